// Known faults, end to end: a training with one fault on purpose, recorded as users do, must get the finding that names it.
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class PathologyRun : public Program {
 protected:
  using Findings = std::map<std::string, nlohmann::json>;
  /// The findings of a training with this pathology, by rule. On a machine that is busy with something else, what that costs may
  /// be larger than the fault that was made: then it is trained again.
  [[nodiscard]] Findings findings(std::string const& pathology, std::string const& training = "cifar10" + kSmall) const {
    constexpr int kTries = 6;
    for (int i = 1;; ++i) {
      Outcome const outcome = stepscope("profile " + training + " -o run --force --device host:2 --pathology " + pathology);
      EXPECT_EQ(outcome.code, 0) << outcome.output;
      Findings by_rule;
      nlohmann::json const analysis = json("run/analysis.json"), injected = json("run/pathology.json");
      for (auto const& finding : analysis.at("findings")) by_rule[finding.at("rule").get<std::string>()] = finding;
      EXPECT_EQ(injected.at("pathologies").size(), 1U);
      bool const found = by_rule.contains(injected.at("pathologies").at(0).at("expected_finding").get<std::string>());
      if (found || i == kTries) {
        EXPECT_TRUE(found) << outcome.output;
        return by_rule;
      }
    }
  }
  [[nodiscard]] nlohmann::json json(std::string const& name) const {
    std::ifstream file(path(name));
    return nlohmann::json::parse(file, nullptr, false);
  }
};

TEST_F(PathologyRun, SlowInputIsInputBoundAndCostsItsDelay) {
  auto const found = findings("slow-input=150");
  constexpr double kMs = 1e6;
  EXPECT_THAT(found.at("input-bound")["cost_ns_per_step"].get<double>(),
              ::testing::AllOf(::testing::Gt(20 * kMs), ::testing::Lt(200 * kMs)));
  EXPECT_EQ(found.at("input-bound")["severity"], "critical");
}

TEST_F(PathologyRun, MemoryThatIsLeftBehindIsALeakOfThatSize) {
  auto const leak = findings("leak=8388608").at("memory-leak");
  EXPECT_NEAR(leak["metrics"]["bytes_per_step"].get<double>(), 8388608, 4096);
}

TEST_F(PathologyRun, MemoryFullOfHolesIsFragmentedAndNoLeak) {
  auto const found = findings("fragmentation", "cifar10 --batch 4 --steps 24 --no-evaluate --log-every 0");
  EXPECT_GT(found.at("memory-fragmentation")["metrics"]["unused_bytes"].get<double>(), 16 << 20);
  EXPECT_FALSE(found.contains("memory-leak"));
}

TEST_F(PathologyRun, MemoryThatIsAllocatedInEveryStepIsFound) {
  EXPECT_GT(findings("alloc-every-step=128").at("allocation-in-step")["cost_ns_per_step"].get<double>(), 0);
}

TEST_F(PathologyRun, ABusyHostIsHostBound) {
  EXPECT_EQ(findings("host-bound=2000").at("host-bound-launches")["severity"], "critical");
}

TEST_F(PathologyRun, AHostThatWaitsForEveryOperationIsBlockedBySyncs) {
  EXPECT_GT(findings("sync-every-op").at("blocking-sync")["cost_ns_per_step"].get<double>(), 0);
}

TEST_F(PathologyRun, AHostThatComesLateMakesItsDeviceTheStragglerAndIsNoSync) {
  auto const found = findings("late-rank=1");
  EXPECT_EQ(found.at("straggler")["device"], 1);
  EXPECT_EQ(found.at("straggler")["severity"], "critical");
  EXPECT_FALSE(found.contains("blocking-sync"));
  // And why: its host was busy with something else.
  ASSERT_TRUE(found.contains("host-bound-launches"));
  EXPECT_THAT(found.at("host-bound-launches").dump(), ::testing::HasSubstr("busy elsewhere"));
}

TEST_F(PathologyRun, ASlowDeviceIsTheStraggler) {
  auto const straggler = findings("straggler=1", "cifar10 --batch 16 --steps 12 --no-evaluate --log-every 0").at("straggler");
  EXPECT_EQ(straggler["device"], 1);
  EXPECT_EQ(straggler["severity"], "critical");
}

TEST_F(PathologyRun, ASlowCheckpointMakesItsStepsOutliers) {
  auto const found = findings("checkpoint-stall=300", "cifar10 --batch 4 --steps 35 --no-evaluate --log-every 0");
  // 300 ms in 3 of 34 steps, and one more where the host of the other device is a step ahead.
  EXPECT_GT(found.at("step-outliers")["cost_ns_per_step"].get<double>(), 20e6);
  EXPECT_THAT(found.at("step-outliers").dump(), ::testing::HasSubstr("slow store"));
  EXPECT_FALSE(found.contains("host-bound-launches") &&
               found.at("host-bound-launches").dump().find("slow store") != std::string::npos);
}

TEST_F(PathologyRun, AnOverloadedFirstStageIsTheStraggler) {
  auto const straggler = findings("imbalanced-split=3", "split --steps 12 --no-evaluate --log-every 0").at("straggler");
  EXPECT_EQ(straggler["device"], 0);
  EXPECT_EQ(straggler["severity"], "critical");
}

TEST_F(PathologyRun, AllReducesBehindTheBackwardPassAreExposed) {
  EXPECT_GT(findings("no-overlap=4", "cifar10 --batch 1 --steps 12 --no-evaluate --log-every 0")
                .at("exposed-communication")["cost_ns_per_step"]
                .get<double>(),
            0);
}

TEST_F(PathologyRun, AnAllReduceForEveryParameterIsTooSmall) {
  auto const found = findings("small-buckets", "cifar10 --batch 1 --steps 12 --no-evaluate --log-every 0").at("small-buckets");
  EXPECT_GE(found["metrics"]["collectives_per_step"].get<double>(), 4);
}

TEST_F(PathologyRun, UnknownNamesAndDevicesSayWhatThereIs) {
  Outcome const unknown = stepscope("run cifar10 --pathology nonsense" + kSmall);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, ::testing::HasSubstr("straggler"));
  Outcome const nobody = stepscope("run cifar10 --device host:2 --pathology straggler=2" + kSmall);
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(nobody.output, ::testing::HasSubstr("no device 2"));
}

}  // namespace
}  // namespace stepscope::e2e
