// Jobs of one fault: what is wrong with them costs what truth.json says, and nothing else is wrong.
#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "tests/unit/trace/synth/synthetic_run.h"
#include "trace/synth/process/fault_kinds.h"

namespace stepscope::synth {
namespace {

using namespace made;

constexpr double kMs = 1e6;

/// A fault and a pattern that can have it.
struct FaultyJob {
  FaultKind kind;
  std::string pattern;
  friend std::ostream& operator<<(std::ostream& out, FaultyJob const& job) {
    return out << job.pattern << ' ' << job.kind.name;
  }
};
std::vector<FaultyJob> all_jobs() {
  std::vector<FaultyJob> jobs;
  for (FaultKind const& kind : fault_kinds())
    for (Pattern const& pattern : patterns())
      if (kind.patterns.empty() || kind.patterns.find(pattern.name) != std::string_view::npos)
        jobs.push_back({kind, std::string(pattern.name)});
  return jobs;
}

SyntheticRun run_with(FaultyJob const& job, int64_t steps, uint64_t seed = 1) {
  return {job.pattern, std::max(2, job.kind.fewest_ranks), std::string(job.kind.name), steps, seed};
}

int64_t cost_of(SyntheticRun const& run) {
  return run.truth.at("fault").at("cost_ns_per_step").get<int64_t>();
}

class EveryFault : public testing::TestWithParam<FaultyJob> {};
int const kFaultySteps = support::kSanitized ? 3 : 12;

TEST_P(EveryFault, StepsAreSplitAsTheTruthSays) {
  // What was not recorded cannot be found.
  FaultType const type = GetParam().kind.type;
  if (type == FaultType::kLostRecords || type == FaultType::kMissingRanks)
    GTEST_SKIP() << "the trace lacks what the truth knows";

  SyntheticRun const made = run_with(GetParam(), kFaultySteps);
  analyzer::Analysis const analysis = analyzer::analyze(made.open());
  ASSERT_EQ(analysis.steps.size(), made.truth.at("steps").size());

  for (analyzer::StepStats const& step : analysis.steps) {
    json const found = time_of(step.window, step.time);
    EXPECT_EQ(found, same_members(step_of(made.truth, step.ref.rank_index, step.step), found))
        << "rank " << step.ref.rank_index << " step " << step.step;
  }
}

TEST_P(EveryFault, IsNamedInTheTruthWithItsCost) {
  SyntheticRun const made = run_with(GetParam(), 12);
  json const& fault = made.truth.at("fault");
  EXPECT_EQ(fault.at("name"), GetParam().kind.name);
  EXPECT_TRUE(made.truth.at("straggler").is_null());
  EXPECT_TRUE(made.truth.at("events_per_rank").is_null());

  if (GetParam().kind.type == FaultType::kNone) {
    EXPECT_TRUE(fault.at("expected_finding").is_null());
    EXPECT_TRUE(fault.at("cost_ns_per_step").is_null());
    return;
  }

  EXPECT_FALSE(fault.at("expected_finding").get<std::string>().empty());
  EXPECT_EQ(fault.at("cost_ns_per_step").is_number(), GetParam().kind.has_cost);

  if (!GetParam().kind.has_cost) return;
  EXPECT_EQ(cost_of(made),
            fault.at("step_ns").get<int64_t>() - fault.at("step_ns_without").get<int64_t>());
  EXPECT_GT(cost_of(made), 0);
}

TEST_P(EveryFault, IsMadeAtBothEndsOfItsRange) {
  FaultKind const& kind = GetParam().kind;
  for (double const amount : {kind.least, kind.most}) {
    std::string const fault =
        kind.unit.empty() ? std::string(kind.name) : fmt::format("{}={}", kind.name, amount);
    SyntheticRun const made(GetParam().pattern, std::max(2, kind.fewest_ranks), fault, 2);
    EXPECT_EQ(made.summary.steps, 2) << fault;
    EXPECT_EQ(made.truth.at("fault").at("amount"), kind.unit.empty() ? 0 : amount) << fault;
  }
}

TEST_P(EveryFault, GivesTheSameBytesTwice) {
  int const steps = support::kSanitized ? 2 : 4;
  SyntheticRun const first = run_with(GetParam(), steps, 7);
  SyntheticRun const second = run_with(GetParam(), steps, 7);
  for (char const* const name : {"rank-0.stepscope", "rank-1.stepscope", "truth.json"})
    EXPECT_TRUE(read_bytes(first.folder.file(name)) == read_bytes(second.folder.file(name)))
        << name;
}

INSTANTIATE_TEST_SUITE_P(Synth, EveryFault, testing::ValuesIn(all_jobs()), [](auto const& job) {
  std::string name = job.param.pattern + "_" + std::string(job.param.kind.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(SynthHealthy, NoStepLosesATwentieth) {
  for (char const* const pattern : {"dp", "moe"}) {
    SyntheticRun const made(pattern, 4, "none", 10);
    for (json const& line : made.truth.at("steps")) {
      if (line.at("step") == 0) continue;

      double const whole = static_cast<double>(line.at("end_ns").get<int64_t>() -
                                               line.at("begin_ns").get<int64_t>());
      double const compute = line.at("compute_ns").get<double>();
      EXPECT_GT(compute / whole, 0.95) << pattern << line;
    }
  }
}

TEST(SynthHealthy, LaunchesAreAheadOfTheDevice) {
  SyntheticRun const made("dp", 2, "none", 6);
  model::Run const run = made.open();
  model::Trace const& trace = run.ranks[0].trace;

  size_t queued = 0, kernels = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) != model::EventKind::kKernel) continue;
    constexpr int64_t kQueuedNs = 100'000;
    ++kernels;
    queued += trace.start(row) - trace.end(trace.columns().link[row].value) > kQueuedNs ? 1 : 0;
  }

  EXPECT_GT(static_cast<double>(queued), 0.9 * static_cast<double>(kernels));
}

TEST(SynthFaultCost, IsTheTimeByWhichABatchIsLate) {
  EXPECT_NEAR(static_cast<double>(cost_of(SyntheticRun("dp", 2, "input=6", 20))), 6 * kMs,
              0.2 * kMs);
  EXPECT_NEAR(static_cast<double>(cost_of(SyntheticRun("moe", 2, "input=2", 20))), 2 * kMs,
              0.1 * kMs);
}

TEST(SynthFaultCost, OfACheckpointIsSpreadOverAllSteps) {
  // Steps 9 and 19 of the 20 that follow the first.
  EXPECT_NEAR(static_cast<double>(cost_of(SyntheticRun("dp", 2, "outliers=50", 21))),
              2 * 50 * kMs / 20, 0.4 * kMs);
}

TEST(SynthFaultCost, OfSlowKernelsIsTheTimeThatTheyTakeMore) {
  SyntheticRun const made("dp", 2, "straggler=1.5", 20);
  double const compute =
      step_of(made.truth, 1 - made.truth.at("fault").at("rank").get<int64_t>(), 5).at("compute_ns");
  EXPECT_NEAR(static_cast<double>(cost_of(made)), compute * 0.5, compute * 0.02);
}

TEST(SynthFaultCost, OfAHealthyPipelineIsItsBubble) {
  SyntheticRun const made("pipeline", 4, "none", 10);
  EXPECT_EQ(made.truth.at("fault").at("expected_finding"), "pipeline-bubble");
  // Three of the eleven times in which a stage has a micro-batch, and what the messages take.
  double const share =
      static_cast<double>(cost_of(made)) / made.truth.at("fault").at("step_ns").get<double>();
  EXPECT_NEAR(share, 3.0 / 11, 0.1);
}

TEST(SynthFaultRank, IsTheOneThatIsSlow) {
  SyntheticRun const made("dp", 4, "straggler=1.5", 6);
  int64_t const slow = made.truth.at("fault").at("rank");
  for (json const& line : made.truth.at("steps"))
    EXPECT_EQ(line.at("straggler"), line.at("rank") == slow) << line;
}

TEST(SynthFaultRank, OfUnequalWorkChangesFromStepToStep) {
  SyntheticRun const made("dp", 4, "imbalance=1.5", 20);
  std::set<int64_t> slow;
  for (json const& line : made.truth.at("steps"))
    if (line.at("straggler") == true) slow.insert(line.at("rank").get<int64_t>());
  EXPECT_GE(slow.size(), 3U);
  EXPECT_TRUE(made.truth.at("fault").at("rank").is_null());
}

TEST(SynthFaultMemory, OfATunedJobIsReused) {
  SyntheticRun const made("dp", 2, "none", 10);
  SyntheticRun const longer("dp", 2, "none", 20);
  analyzer::Analysis const few = analyzer::analyze(made.open()),
                           many = analyzer::analyze(longer.open());
  EXPECT_EQ(few.devices[0].memory.peak_reserved_bytes, many.devices[0].memory.peak_reserved_bytes);
}

TEST(SynthFaultMemory, OfAFragmentedOneIsReservedAnewInEveryStep) {
  auto const reserved = [](char const* fault) {
    return *analyzer::analyze(SyntheticRun("dp", 1, fault, 20).open())
                .devices[0]
                .memory.peak_reserved_bytes;
  };
  constexpr uint64_t kMiB = 1U << 20;
  EXPECT_GT(reserved("fragmentation=256"), reserved("none") + 18 * 256 * kMiB);
}

TEST(SynthFaultRecords, ThatAreLostAreCounted) {
  SyntheticRun const made("dp", 2, "lost-records=40", 10);
  SyntheticRun const whole("dp", 2, "none", 10);
  auto const launches = [](SyntheticRun const& run) {
    return run.truth.at("devices")[0].at("launches").get<int64_t>();
  };
  uint64_t const dropped = made.open().ranks[0].trace.log().dropped;
  EXPECT_EQ(static_cast<int64_t>(dropped), launches(whole) - launches(made));
  EXPECT_NEAR(static_cast<double>(dropped), 0.4 * static_cast<double>(launches(whole)),
              0.05 * static_cast<double>(launches(whole)));
}

TEST(SynthFaultNames, ThatAreUnknownSayWhatThereIs) {
  auto const fault = parse_fault("nonsense=3");
  ASSERT_FALSE(fault);
  for (FaultKind const& kind : fault_kinds())
    EXPECT_THAT(fault.error().message, testing::HasSubstr(std::string(kind.name)));
}

TEST(SynthFaultNames, HaveTheirUsualAmountOrTheOneThatIsGiven) {
  EXPECT_EQ(parse_fault("input")->amount, 4);
  EXPECT_EQ(parse_fault("input=2.5")->amount, 2.5);
  EXPECT_EQ(parse_fault("straggler=1")->amount, 1);
}

TEST(SynthFaultNames, TakeNoAmountsOutOfRange) {
  for (char const* const text :
       {"input=", "input=0", "input=-1", "input=1e9", "input=nan", "input=inf", "input=4ms",
        "input=4,5", "straggler=0.9", "small-grids=132", "small-grids=7.5", "none=1",
        "serialized-streams=2"}) {
    auto const fault = parse_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_THAT(fault.error().message, testing::StartsWith("fault ")) << text;
  }
}

TEST(SynthFaultNames, AreInTheDocuments) {
  std::string const page = read_bytes(support::source_path("docs/reference/SYNTH.md"));
  for (FaultKind const& kind : fault_kinds()) {
    std::string const amount = kind.unit.empty() ? "" : fmt::format(" {}", kind.usual);
    std::string const line = fmt::format("\n| `{}`{} |", usage_of(kind), amount);
    ASSERT_THAT(page, testing::HasSubstr(line));
    std::string const rest = page.substr(page.find(line) + 1);
    std::string const finding = kind.finding.empty() ? "" : fmt::format("| {} |", kind.finding);
    EXPECT_THAT(rest.substr(0, rest.find('\n')), testing::HasSubstr(finding));
  }
}

TEST(SynthFaultNames, AreRefusedWhereAJobCannotHaveThem) {
  TemporaryFolder const folder;
  auto const error = [&](char const* pattern, int32_t ranks, char const* fault) {
    SynthOptions options;
    options.pattern = find_pattern(pattern);
    options.ranks = ranks;
    options.steps = 1;
    options.fault = *parse_fault(fault);
    auto const made = make_run(options, folder.path());
    return made ? std::string() : made.error().message;
  };

  EXPECT_THAT(error("pipeline", 4, "small-buckets"), testing::HasSubstr("use --pattern dp"));
  EXPECT_THAT(error("dp", 4, "slow-pair"), testing::HasSubstr("use --pattern pipeline"));
  EXPECT_THAT(error("pipeline", 4, "slow-link"), testing::HasSubstr("use --pattern dp or moe"));
  EXPECT_THAT(error("moe", 9, "slow-group"), testing::HasSubstr("groups of 4"));
  EXPECT_THAT(error("dp", 1, "straggler"), testing::HasSubstr("use --ranks 2"));

  EXPECT_FALSE(std::filesystem::exists(folder.file("rank-0.stepscope")));
}

}  // namespace
}  // namespace stepscope::synth
