// Pathologies: what their texts mean, what they do to a training, and that none of them changes
// what is learned.
#include "workloads/faults/fault_injection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/networks/cifar10.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(FaultInjection, TextNamesTheKindAndItsValue) {
  EXPECT_EQ(parse_fault_injection("straggler=1").value().value, 1);
  EXPECT_EQ(parse_fault_injection("straggler=1").value().text(), "straggler=1");
  EXPECT_EQ(parse_fault_injection("leak").value().value, 1 << 20);
  EXPECT_EQ(parse_fault_injection("leak=4096").value().value, 4096);
  EXPECT_EQ(parse_fault_injection("small-buckets").value().text(), "small-buckets");
  EXPECT_EQ(parse_fault_injection("no-overlap").value().text(), "no-overlap=1");
}

TEST(FaultInjection, WrongTextIsAnErrorThatSaysWhatToWrite) {
  EXPECT_THAT(parse_fault_injection("slow").error().message,
              ::testing::AllOf(HasSubstr("slow-input"), HasSubstr("straggler")));
  EXPECT_THAT(parse_fault_injection("straggler").error().message, HasSubstr("straggler=DEVICE"));
  EXPECT_THAT(parse_fault_injection("small-buckets=3").error().message,
              HasSubstr("takes no value"));

  for (char const* const bad : {"leak=", "leak=x", "leak=-1", "leak=1e99", "leak=nan", "leak=1 "}) {
    EXPECT_THAT(parse_fault_injection(bad).error().message, HasSubstr("leak=BYTES")) << bad;
  }

  // Would be device 0 otherwise.
  EXPECT_THAT(parse_fault_injection("straggler=0.5").error().message,
              HasSubstr("not a whole number"));
  EXPECT_EQ(parse_fault_injection("imbalanced-split=1.5").value().value, 1.5);
}

TEST(FaultInjection, BelongsToAKindOfWorkload) {
  std::vector<std::string> const of_split = {"imbalanced-split"},
                                 of_others = {"leak", "no-overlap"};
  EXPECT_EQ(parse_pathologies(of_others, false).value().size(), 2U);
  EXPECT_THAT(parse_pathologies(of_split, false).error().message, HasSubstr("split"));
  EXPECT_THAT(parse_pathologies(of_others, true).error().message, HasSubstr("data-parallel"));
  EXPECT_THAT(list_pathologies(true), ::testing::AllOf(HasSubstr("imbalanced-split=TIMES"),
                                                       ::testing::Not(HasSubstr("leak"))));
}

TEST(FaultInjection, NamesFindingsThatAreDocumented) {
  std::ifstream file(support::source_path("docs/reference/FINDINGS.md"));
  std::stringstream text;
  text << file.rdbuf();
  for (FaultInjectionKind const& kind : fault_injection_kinds())
    EXPECT_THAT(text.str(), HasSubstr(std::string("## ") + kind.finding));
}

class Pathologies : public ::testing::Test {
 protected:
  static base::Expected<TrainingResult> train(std::initializer_list<char const*> texts,
                                              std::string const& device = "host:2") {
    static CifarDataSet const data = {generate_cifar(100, 0), generate_cifar(10, 1)};

    TrainOptions o;
    o.device = device;
    o.batch = 4;
    o.steps = 3;
    o.decay_epochs = 350;
    o.learning_rate = 0.01;
    o.evaluate = false;
    o.log_every = 0;

    for (char const* const text : texts)
      o.pathologies.push_back(parse_fault_injection(text).value());
    apply_pathologies(o);
    return train_cifar10(o, {16, 32, 16}, data, nullptr);
  }
};

TEST_F(Pathologies, ChangeNothingThatIsLearned) {
  auto const healthy = train({}).value();
  for (char const* const text :
       {"slow-input=1", "sync-every-op", "tiny-kernels=100000", "pageable-copies", "small-buckets",
        "no-overlap", "no-overlap=4", "straggler=1", "late-rank=0", "alloc-every-step=1",
        "leak=100", "fragmentation=1", "host-bound=10", "checkpoint-stall=1"}) {
    auto const ill = train({text}).value();
    EXPECT_EQ(ill.failure, std::nullopt) << text;
    EXPECT_EQ(ill.weights, healthy.weights) << text;
  }
}

TEST_F(Pathologies, DoWhatTheySay) {
  auto const healthy = train({}).value();
  EXPECT_GT(train({"tiny-kernels=1000"}).value().counts.launches, healthy.counts.launches * 3 / 2);
  EXPECT_GT(train({"small-buckets"}).value().counts.collectives, healthy.counts.collectives);
  EXPECT_EQ(train({"no-overlap=4"}).value().counts.collectives, 4 * healthy.counts.collectives);
  auto const leak = train({"leak=1000000"}).value();
  EXPECT_GE(leak.memory[0].allocated_bytes, healthy.memory[0].allocated_bytes + 3'000'000);
  auto const holes = train({"fragmentation=8"}).value();
  EXPECT_GE(holes.memory[0].reserved_bytes, healthy.memory[0].reserved_bytes + (16U << 20U));
  EXPECT_LE(holes.memory[0].allocated_bytes, healthy.memory[0].allocated_bytes + (10U << 20U));
}

TEST_F(Pathologies, OfADeviceThatIsNotThereAreAnError) {
  EXPECT_THAT(train({"straggler=2"}).error().message, HasSubstr("they are 0 to 1"));
  EXPECT_THAT(train({"late-rank=7"}).error().message, HasSubstr("no device 7"));
}

TEST_F(Pathologies, LeakEndsAsOutOfMemoryThatNamesTheLeak) {
  auto const result = train({"leak=100000000000"});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_THAT(result->failure.value_or(""), HasSubstr("leaked"));
}

TEST(FaultInjectionRecord, IsAFileInTheRunsFolder) {
  TemporaryFolder const folder;
  ::setenv("STEPSCOPE_OUTPUT", folder.path().c_str(), 1);
  std::vector<FaultInjection> const list = {parse_fault_injection("straggler=1").value()};
  record_pathologies(list);
  ::unsetenv("STEPSCOPE_OUTPUT");
  EXPECT_THAT(testing::read_bytes(folder.file("pathology.json")),
              ::testing::AllOf(HasSubstr("\"straggler\""),
                               HasSubstr("\"expected_finding\": \"straggler\"")));
}

}  // namespace
}  // namespace stepscope::workloads
