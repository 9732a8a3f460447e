// Jobs with one fault against the same jobs without it: the verdict, how much slower, and why.
#include <cmath>

#include "analyzer/analyze.h"
#include "analyzer/compare/comparison.h"
#include "tests/unit/trace/synth/synthetic_run.h"

namespace stepscope::synth {
namespace {

using analyzer::ChangePart;
using analyzer::Comparison;
using made::SyntheticRun;

struct ComparedFault {
  char const* fault;
  char const* part;  ///< ChangePart that has most of it
};

analyzer::RunMeasurements compared(SyntheticRun const& made) {
  model::Run const run = made.open();
  return analyzer::sample_run(run, analyzer::analyze(run));
}

void expect_explained(ComparedFault const& expected, analyzer::RunMeasurements const& base) {
  SCOPED_TRACE(expected.fault);
  SyntheticRun const made("dp", 4, std::string(expected.fault), 16, 2);
  Comparison const comparison = analyzer::compare_runs({base}, {compared(made)});
  ASSERT_FALSE(comparison.refusal);
  EXPECT_EQ(comparison.verdict, analyzer::Verdict::kMore);

  // The mean over the devices of their periods, against the time from step to step on all of them.
  double const cost = made.truth["fault"]["cost_ns_per_step"];
  EXPECT_NEAR(static_cast<double>(comparison.candidate.mean_ns - comparison.base.mean_ns), cost,
              0.02 * cost);

  size_t most = 0;
  int64_t sum = 0;
  for (size_t i = 0; i < comparison.parts_ns.size(); ++i) {
    sum += comparison.parts_ns[i];
    if (comparison.parts_ns[i] > comparison.parts_ns[most]) most = i;
  }

  EXPECT_STREQ(to_string(static_cast<ChangePart>(most)), expected.part);
  EXPECT_EQ(sum, comparison.candidate.mean_ns - comparison.base.mean_ns);
}

TEST(CompareFaults, AreFoundAndExplained) {
  analyzer::RunMeasurements const base =
      compared(SyntheticRun("dp", 4, std::string("none"), 16, 1));

  for (ComparedFault const fault : {ComparedFault{"input=4", "input"},
                                    {"host-bound=120", "launch_starved"},
                                    {"late-rank=4", "exposed_late"},
                                    {"allocation=8", "allocation"},
                                    {"straggler=1.3", "exposed_late"},
                                    {"no-overlap=1", "exposed_comm"},
                                    {"slow-link=20", "exposed_comm"},
                                    {"tensor-cores=2", "new_kernels"}})
    expect_explained(fault, base);
}

TEST(CompareFaults, JobsOfOtherSeedsAreTheSame) {
  std::vector<analyzer::RunMeasurements> runs;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    runs.push_back(compared(SyntheticRun("moe", 2, std::string("none"), 12, seed)));
  Comparison const comparison = analyzer::compare_runs({runs[0], runs[1]}, {runs[2], runs[3]});
  EXPECT_EQ(comparison.verdict, analyzer::Verdict::kSame);
  for (analyzer::Metric const& metric : comparison.metrics)
    EXPECT_NE(metric.verdict, analyzer::Verdict::kMore)
        << to_string(metric.family) << " " << metric.name;
}

TEST(CompareFaults, AnotherPatternIsAnotherProgram) {
  Comparison const comparison =
      analyzer::compare_runs({compared(SyntheticRun("dp", 2, std::string("none"), 8))},
                             {compared(SyntheticRun("moe", 2, std::string("none"), 8))});
  bool is_noticed = comparison.refusal == analyzer::Refusal::kNoCommonKernel;
  for (auto const& caveat : comparison.caveats)
    is_noticed = is_noticed || caveat.caveat == analyzer::Caveat::kKernelNames;
  EXPECT_TRUE(is_noticed);
}

}  // namespace
}  // namespace stepscope::synth
