// What every export format must do.
#include "trace/export/exporters.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/export/made_traces.h"
#include "tests/unit/workloads/temporary_folder.h"

namespace stepscope::exporting {
namespace {

using testing::made_trace;
using workloads::testing::TemporaryFolder;

int64_t files_in(std::string const& folder) { return std::distance(std::filesystem::recursive_directory_iterator(folder), {}); }

class EveryFormat : public ::testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] static ExportFormat const& format() { return export_formats()[GetParam()]; }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("run" + std::string(format().file_suffix));
};

TEST_P(EveryFormat, IsThereOnlyWhenItIsFinished) {
  {
    auto exporter = format().open(path_);
    ASSERT_TRUE(exporter) << exporter.error().message;
    ASSERT_TRUE((*exporter)->add(made_trace(0), 0));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(files_in(folder_.path()), 0);
  testing::write(format(), path_, {}, {});
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_P(EveryFormat, TheSameRunGivesTheSameBytes) {
  std::vector<model::Trace> traces;
  for (int32_t const rank : {0, 1}) traces.push_back(made_trace(rank));
  std::string const again = folder_.file("again" + std::string(format().file_suffix));
  testing::write(format(), path_, traces, {0, 1000});
  testing::write(format(), again, traces, {0, 1000});
  if (!std::filesystem::is_regular_file(path_)) return;
  EXPECT_GT(std::filesystem::file_size(path_), 1000U);
  EXPECT_EQ(workloads::testing::read_bytes(path_), workloads::testing::read_bytes(again));
}

TEST_P(EveryFormat, AFullDiskIsAnErrorThatNamesTheFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  // What is written beside the target is a way to the device that is always full.
  std::string const beside = path_ + "." + std::to_string(::getpid()) + ".tmp";
  std::filesystem::create_symlink("/dev/full", beside);
  auto exporter = format().open(path_);
  if (!exporter) return;  // looks into its file at once
  auto const added = (*exporter)->add(made_trace(0), 0);
  auto const finished = added ? (*exporter)->finish() : added;
  if (finished) GTEST_SKIP() << format().name << " writes elsewhere";
  EXPECT_NE(finished.error().message.find(path_), std::string::npos) << finished.error().message;
  exporter->reset();
  EXPECT_EQ(files_in(folder_.path()), 0);
}

TEST_P(EveryFormat, APlaceThatCannotBeWrittenIsAnErrorThatNamesIt) {
  std::string const nowhere = folder_.file("missing/run" + std::string(format().file_suffix));
  auto const exporter = format().open(nowhere);
  ASSERT_FALSE(exporter);
  EXPECT_NE(exporter.error().message.find(nowhere), std::string::npos) << exporter.error().message;
}

INSTANTIATE_TEST_SUITE_P(Exporters, EveryFormat, ::testing::Range<size_t>(0, export_formats().size()),
                         [](auto const& of) { return std::string(export_formats()[of.param].name); });

TEST(ExportFormats, HaveNamesAndSuffixesOfTheirOwn) {
  std::set<std::string_view> names, suffixes;
  for (ExportFormat const& format : export_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(suffixes.insert(format.file_suffix).second) << format.file_suffix;
    EXPECT_FALSE(format.summary.empty());
  }
}

}  // namespace
}  // namespace stepscope::exporting
