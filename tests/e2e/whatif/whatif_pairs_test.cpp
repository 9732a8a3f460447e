// What whatif says of synthetic runs with a fault, against the step that the same job has without
// it: truth.json knows both. bench/whatif_pairs.py prints the same as a table.
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

struct FaultPair {
  char const* pattern;
  int ranks;
  char const* fault;
  char const* change;  ///< undoes the fault; RANK: the one that has it
  double most_error = 0.01;

  friend void PrintTo(FaultPair const& pair, std::ostream* out) {
    *out << pair.pattern << " " << pair.fault << " " << pair.change;
  }
};

constexpr FaultPair kPairs[] = {
    {"dp", 4, "input", "input=0"},
    {"dp", 4, "host-bound", "launch=0"},
    {"dp", 4, "sync", "sync=off"},
    {"dp", 4, "allocation", "alloc=0"},
    {"dp", 4, "late-rank", "straggler=RANK"},
    {"dp", 4, "straggler", "straggler=RANK"},
    {"dp", 2, "straggler", "straggler=median"},
    {"dp", 4, "imbalance", "imbalance=mean"},
    {"dp", 4, "small-buckets", "bucket=30MB"},
    {"dp", 4, "no-overlap", "overlap", 0.05},
    {"dp", 4, "no-overlap=2", "overlap", 0.05},
    {"dp", 4, "slow-link", "comm:bandwidth=*5"},
    {"dp", 8, "slow-link", "comm:bandwidth=*5"},
    {"dp", 4, "pageable-copies", "copies=0"},
    {"dp", 4, "serialized-copies", "copies=0"},
    {"dp", 4, "tensor-cores", "kernel:gemm|conv=/2"},
    {"dp", 4, "outliers", "host:save checkpoint=0"},
    {"pipeline", 4, "input", "input=0"},
    {"pipeline", 4, "host-bound", "launch=0"},
    {"pipeline", 4, "sync", "sync=off"},
    {"pipeline", 4, "allocation", "alloc=0"},
    {"pipeline", 4, "late-rank", "straggler=RANK"},
    {"pipeline", 4, "straggler", "straggler=RANK"},
    {"pipeline", 4, "tensor-cores", "kernel:gemm|conv=/2"},
    {"moe", 4, "input", "input=0"},
    {"moe", 4, "host-bound", "launch=0"},
    {"moe", 4, "sync", "sync=off"},
    {"moe", 4, "allocation", "alloc=0"},
    {"moe", 4, "late-rank", "straggler=RANK"},
    {"moe", 4, "straggler", "straggler=RANK"},
    {"moe", 4, "imbalance", "imbalance=mean"},
    {"moe", 4, "slow-link", "comm:bandwidth=*5"},
    {"moe", 4, "tensor-cores", "kernel:gemm|conv=/2"},
};

/// The replay of an unchanged synthetic run misses it by less.
constexpr double kMostReplayError = 0.001;

class WhatIfPairs : public Program, public testing::WithParamInterface<FaultPair> {
 protected:
  void SetUp() override {
    FaultPair const& pair = GetParam();
    Outcome const made =
        stepscope(std::string("synth -o run --steps 20 --pattern ") + pair.pattern + " --ranks " +
                  std::to_string(pair.ranks) + " --fault " + pair.fault);
    ASSERT_EQ(made.code, 0) << made.output;

    std::ifstream file(path("run/truth.json"));
    truth_ = json::parse(file)["fault"];
  }
  [[nodiscard]] json json_of(std::string const& command) const {
    Outcome const outcome = stepscope(command + " --json 2> /dev/null");
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return json::parse(outcome.output);
  }
  [[nodiscard]] std::string change() const {
    std::string change = GetParam().change;
    size_t const at = change.find("RANK");
    return at == std::string::npos ? change
                                   : change.replace(at, 4, std::to_string(int(truth_["rank"])));
  }

  json truth_;
};

INSTANTIATE_TEST_SUITE_P(Faults, WhatIfPairs, testing::ValuesIn(kPairs));

TEST_P(WhatIfPairs, ThePredictedStepIsThatOfTheJobWithoutTheFault) {
  json const stats = json_of("whatif run --only-changes --change '" + change() + "'");
  EXPECT_LT(std::abs(double(stats["baseline"]["error"])), kMostReplayError);

  json const& answer = stats["answers"][0];
  ASSERT_FALSE(bool(answer["refused"])) << answer["reason"];
  double const without = truth_["step_ns_without"];
  EXPECT_NEAR(double(answer["step_ns"]) / without, 1, GetParam().most_error);
}

/// The findings of a run promise what its replay gives.
class WhatIfGains : public WhatIfPairs {};

constexpr FaultPair kFixedPairs[] = {
    {"dp", 4, "input", "input-bound"},
    {"dp", 4, "sync", "blocking-sync"},
    {"dp", 4, "allocation", "allocation-in-step"},
    {"dp", 4, "straggler", "straggler"},
    {"dp", 4, "imbalance", "load-imbalance"},
    {"dp", 4, "no-overlap", "exposed-communication"},
    {"dp", 4, "host-bound", "host-bound-launches"},
};
INSTANTIATE_TEST_SUITE_P(Findings, WhatIfGains, testing::ValuesIn(kFixedPairs));

/// Findings promise no more than their own cost, which may be a little less.
constexpr double kMostGainError = 0.03;

TEST_P(WhatIfGains, AFindingPromisesWhatItsFixGives) {
  json const analysis = json_of("analyze run");
  auto const& findings = analysis["findings"];
  auto const finding = std::find_if(findings.begin(), findings.end(),
                                    [](json const& f) { return f["rule"] == GetParam().change; });
  ASSERT_NE(finding, findings.end());

  double const gain = double(truth_["step_ns"]) / double(truth_["step_ns_without"]) - 1;
  EXPECT_NEAR(double((*finding)["gain_alone"]), gain, kMostGainError);
  EXPECT_TRUE((*finding)["gain_after_above"].is_number());
}

}  // namespace
}  // namespace stepscope::e2e
