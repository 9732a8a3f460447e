// Verdicts of interleaved pairs of runs on a machine whose neighbours take cores for a while. A
// step that is hit takes twice as long; chance decides for each program which steps are hit.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/run_sample.h"
#include "tests/support/sanitized.h"

namespace stepscope::analyzer {
namespace {

constexpr double kTurnStepNs = 20'000'000;
constexpr size_t kStepsOfARun = 140;

/// Two runs of one machine, whose speed drifts by up to a third for both.
class Neighbourhood {
 public:
  explicit Neighbourhood(uint32_t seed) : random_(seed) {}

  void add_pair(double slower, std::vector<std::vector<double>>& base,
                std::vector<std::vector<double>>& candidate) {
    std::vector<double> speeds;
    double speed = 1 + std::abs(normal_(random_)) * 0.2;
    for (size_t s = 0; s < kStepsOfARun; ++s)
      speeds.push_back(speed = std::clamp(speed + 0.01 * normal_(random_), 1.0, 1.33));
    base.push_back(run(speeds, 1));
    candidate.push_back(run(speeds, 1 + slower));
  }

 private:
  /// The fastest steps of a run.
  std::vector<double> run(std::vector<double> const& speeds, double work) {
    double const process = work * (1 + 0.004 * normal_(random_));
    std::vector<double> steps;
    bool is_hit = false;
    for (double const speed : speeds) {
      is_hit = chance_(random_) < (is_hit ? 0.8 : 0.1);
      steps.push_back(kTurnStepNs * process * speed * (is_hit ? 2 : 1) *
                      (1 + 0.02 * std::abs(normal_(random_))));
    }

    std::sort(steps.begin(), steps.end());
    steps.resize(
        static_cast<size_t>(std::ceil(kFastestInTurn * static_cast<double>(steps.size()))));
    return steps;
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> chance_;
};

int count_verdicts(Verdict wanted, double slower, size_t pairs, int times) {
  int count = 0;
  for (int i = 0; i < times; ++i) {
    Neighbourhood neighbourhood(static_cast<uint32_t>(i + 1));
    std::vector<std::vector<double>> base, candidate;
    for (size_t p = 0; p < pairs; ++p) neighbourhood.add_pair(slower, base, candidate);
    Change const change = measure_pairs(base, candidate);
    count += judge(change, change.p, 0.02 * change.base_mean) == wanted ? 1 : 0;
  }
  return count;
}

int const kTimesInTurn = support::kSanitized ? 40 : 1000;

TEST(CompareInTurn, FiveOf1000UnchangedProgramsAtMostAreTakenForChanged) {
  for (size_t const pairs : {4U, 7U, 11U})
    EXPECT_LE(count_verdicts(Verdict::kMore, 0, pairs, kTimesInTurn) +
                  count_verdicts(Verdict::kLess, 0, pairs, kTimesInTurn),
              5)
        << pairs;
}

TEST(CompareInTurn, UnchangedProgramsAreNeverFarApart) {
  int alarms = 0;
  for (int i = 0; i < kTimesInTurn; ++i)
    for (size_t const pairs : {1U, 2U, 3U}) {
      Neighbourhood neighbourhood(static_cast<uint32_t>(i + 1));
      std::vector<std::vector<double>> base, candidate;
      for (size_t p = 0; p < pairs; ++p) neighbourhood.add_pair(0, base, candidate);
      std::optional<Change> const apart = measure_far_apart(base, candidate);
      ASSERT_TRUE(apart);
      alarms += judge(*apart, apart->p, 0.02 * kTurnStepNs) == Verdict::kUnclear ? 0 : 1;
    }

  EXPECT_LE(alarms, 5);
}

TEST(CompareInTurn, WhatIs5PercentSlowerIsNeverTheSameAndFoundWith11Pairs) {
  EXPECT_EQ(count_verdicts(Verdict::kSame, 0.05, 4, kTimesInTurn), 0);
  EXPECT_GE(count_verdicts(Verdict::kMore, 0.05, 11, kTimesInTurn), kTimesInTurn * 99 / 100);
}

TEST(CompareInTurn, UnchangedProgramsPassWith11Pairs) {
  EXPECT_GE(count_verdicts(Verdict::kSame, 0, 11, kTimesInTurn), kTimesInTurn * 95 / 100);
}

}  // namespace
}  // namespace stepscope::analyzer
