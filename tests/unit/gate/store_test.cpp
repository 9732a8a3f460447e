// Files of a gate in folders: what is recognized as what, names that cannot leave their folder,
// histories that grow.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/store.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::gate {
namespace {

using analyzer::gate_testing::measured_run;
using testing::HasSubstr;
namespace fs = std::filesystem;

class GateStore : public testing::Test {
 protected:
  GateStore() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~GateStore() override { fs::remove_all(folder_); }
  std::string path(std::string const& name) const { return (folder_ / name).string(); }
  void write(std::string const& name, std::string const& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  static std::string baseline(std::string const& name) {
    return baseline_text({name, {measured_run({1e6, 2e6, 3e6})}});
  }
  static std::string history(std::string const& name) {
    return history_text({name, {analyzer::history_point(measured_run({1e6, 2e6, 3e6}), "abc123")}});
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("stepscope_gate_" +
                      std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(GateStore, FilesAreToldByTheirContent) {
  write("b.json", baseline("a"));
  write("h.json", history("a"));
  write("trace.json", "{\"traceEvents\":[]}");
  EXPECT_EQ(kind_of(path("b.json")), PathKind::kBaseline);
  EXPECT_EQ(kind_of(path("h.json")), PathKind::kHistory);
  EXPECT_EQ(kind_of(path("trace.json")), PathKind::kRun);
  EXPECT_EQ(kind_of(path("nowhere")), PathKind::kRun);
}

TEST_F(GateStore, FoldersOfBaselinesAreToldFromRuns) {
  write("baselines/a.json", baseline("a"));
  write("run/rank-0.stepscope", "");
  write("run/b.json", baseline("a"));
  write("traces/rank0.json", "{\"traceEvents\":[]}");
  fs::create_directories(path("empty"));
  EXPECT_EQ(kind_of(path("baselines")), PathKind::kFolder);
  EXPECT_EQ(kind_of(path("empty")), PathKind::kFolder);
  EXPECT_EQ(kind_of(path("run")), PathKind::kRun);
  EXPECT_EQ(kind_of(path("traces")), PathKind::kRun);
}

TEST_F(GateStore, AFolderHasAFileForEachWorkload) {
  write("baselines/cifar10.json", baseline("cifar10"));
  EXPECT_EQ(read_baseline(path("baselines"), "cifar10")->name, "cifar10");
  EXPECT_EQ(baseline_file(path("baselines"), "cifar10"), path("baselines/cifar10.json"));
  EXPECT_EQ(baseline_file(path("run"), "cifar10"), path("run"));
  auto const missing = read_baseline(path("baselines"), "gpt");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              testing::AllOf(HasSubstr("no baseline of gpt (it has cifar10)"),
                             HasSubstr("--update-baseline")));
}

TEST_F(GateStore, ABaselineGoesToItsFileOrIntoItsFolder) {
  EXPECT_EQ(baseline_target(path("new/sub"), "gpt").value(), path("new/sub/gpt.json"));
  EXPECT_TRUE(fs::is_directory(path("new/sub")));

  write("package.json", "{\"name\":\"x\"}");
  EXPECT_EQ(baseline_target(path("one.json"), "gpt").value(), path("one.json"));
  EXPECT_EQ(baseline_target(path("its/own/one.json"), "gpt").value(), path("its/own/one.json"));
  EXPECT_TRUE(fs::is_directory(path("its/own")));

  EXPECT_THAT(baseline_target(path("package.json/one.json"), "gpt").error().message,
              HasSubstr("cannot be made a folder"));
  auto const other = baseline_target(path("package.json"), "gpt");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("is no baseline and is not replaced"));
}

TEST_F(GateStore, NamesCannotLeaveTheirFolder) {
  for (std::string const name : {"../x", "a/b", "", ".", "..", ".hidden", "-o", "a b", "x\n", "ü"})
    EXPECT_FALSE(check_name(name)) << name;
  EXPECT_FALSE(check_name(std::string(101, 'a')));
  for (std::string const name : {"cifar10", "gpt-2.5_small"}) EXPECT_TRUE(check_name(name)) << name;
}

TEST_F(GateStore, TheNameOfARunIsThatOfItsProgram) {
  auto const name_of = [](std::string const& command, std::string const& name = "folder/run") {
    analyzer::RunMeasurements run;
    run.command = command;
    run.name = name;
    return workload_name(run);
  };

  EXPECT_EQ(name_of("/opt/bin/stepscope run cifar10 --device host:2"), "cifar10");
  EXPECT_EQ(name_of("python3 -u src/train_gpt.py --lr 3"), "train_gpt");
  EXPECT_EQ(name_of("torchrun --nproc 2 train.py"), "train");
  EXPECT_EQ(name_of("./build/my-loop 3"), "my-loop");
  EXPECT_EQ(name_of(""), "folder-run");
  EXPECT_EQ(name_of("", ""), "run");
  EXPECT_EQ(name_of("../../etc/passwd"), "passwd");
  EXPECT_EQ(name_of("stepscope run ../../x"), "x");

  for (std::string const hostile : {"/ ", "\n\n", "..", "stepscope run ..", "a\x1b[31m"})
    EXPECT_TRUE(check_name(name_of(hostile))) << name_of(hostile);
}

TEST_F(GateStore, AHistoryGrowsAndIsReadTheSame) {
  History grown = history_to_append(path("h.json"), "cifar10").value();
  EXPECT_TRUE(grown.points.empty());

  analyzer::RunMeasurements run = measured_run({1e6, 2e6, 3e6});
  for (int i = 0; i < 3; ++i)
    grown.points.push_back(analyzer::history_point(run, "commit " + std::to_string(i)));
  run.peak_allocated_bytes.reset();
  grown.points.push_back(analyzer::history_point(run, "\xFF\x1b"));

  write("h.json", history_text(grown));
  auto const read = history_to_append(path("h.json"), "cifar10");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->points.size(), 4U);
  EXPECT_EQ(read->points[1].label, "commit 1");
  EXPECT_EQ(read->points[0].step_ns, 2e6);
  EXPECT_EQ(read->points[0].parts_ns, grown.points[0].parts_ns);
  EXPECT_FALSE(read->points[3].peak_allocated_bytes.has_value());
  EXPECT_EQ(history_text(*read), history_text(grown));
}

TEST_F(GateStore, TheFolderOfANewHistoryIsMade) {
  EXPECT_TRUE(history_to_append(path("history/gpt.json"), "gpt").value().points.empty());
  EXPECT_TRUE(fs::is_directory(path("history")));
  write("file", "");
  EXPECT_THAT(history_to_append(path("file/gpt.json"), "gpt").error().message,
              HasSubstr("cannot be made a folder"));
}

TEST_F(GateStore, AHistoryOfAnotherWorkloadIsNotAppendedTo) {
  write("h.json", history("gpt"));
  EXPECT_THAT(history_to_append(path("h.json"), "cifar10").error().message,
              HasSubstr("is the history of gpt, not of cifar10"));
  write("b.json", baseline("cifar10"));
  EXPECT_THAT(history_to_append(path("b.json"), "cifar10").error().message,
              HasSubstr("is no history and is not replaced"));
}

TEST_F(GateStore, DamagedHistoriesAreRefused) {
  std::string const good = history("a");
  auto const error_with = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    auto const read = parse_history(text, "h.json");
    return read ? "read" : read.error().message;
  };

  EXPECT_THAT(error_with("\"schema\":1", "\"schema\":9"), HasSubstr("newer Stepscope"));
  EXPECT_THAT(error_with("\"step_ns\":2000000", "\"step_ns\":-2"), HasSubstr("runs[0].step_ns"));
  EXPECT_THAT(error_with("\"step_ns\":2000000", "\"step_ns\":\"x\""), HasSubstr("runs[0].step_ns"));
  EXPECT_THAT(error_with("\"compute\"", "\"magic\""), HasSubstr("runs[0].parts_ns.magic"));
}

}  // namespace
}  // namespace stepscope::gate
