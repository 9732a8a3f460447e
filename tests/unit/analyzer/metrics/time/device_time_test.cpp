// Windows that are split one after the other in any order, compared with plain sums over the
// intervals and gaps.
#include "analyzer/metrics/time/device_time.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

int64_t overlap(Interval a, Interval b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

int64_t plain_measure(model::IntervalSet const& set, Interval window) {
  int64_t sum = 0;
  for (Interval const& interval : set) sum += overlap(interval, window);
  return sum;
}

IdleSplit plain_causes(std::vector<IdleGap> const& gaps, Interval window) {
  IdleSplit split{};
  for (IdleGap const& gap : gaps)
    split[static_cast<size_t>(gap.cause)] += overlap(gap.when, window);
  return split;
}

class RandomSets {
 public:
  explicit RandomSets(uint64_t seed) : random_(seed) {
    for (auto* const set :
         {&sets.busy, &sets.compute, &sets.comm, &sets.copy, &sets.exposed_comm, &sets.exposed_copy,
          &sets.exposed_wait, &sets.exposed_late, &sets.unhidden_comm})
      *set = intervals();
    if (pick(0, 1) == 1) sets.blocking_comm = intervals();
    sets.unhidden = make_gaps();
    gaps = make_gaps();
  }
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  DeviceSets sets;
  std::vector<IdleGap> gaps;

 private:
  model::IntervalSet intervals() {
    model::IntervalSet set;
    int64_t at = 0;
    for (int64_t i = pick(0, 40); i-- > 0;) {
      at += pick(1, 9);
      set.push_back({at, at + pick(1, 9)});
      at = set.back().end;
    }
    return set;
  }
  /// They may touch.
  std::vector<IdleGap> make_gaps() {
    std::vector<IdleGap> made;
    int64_t at = 0;
    for (int64_t i = pick(0, 40); i-- > 0;) {
      IdleGap& gap = made.emplace_back();
      gap.when.begin = at + pick(0, 9);
      at = gap.when.end = gap.when.begin + pick(1, 9);
      gap.cause = static_cast<IdleCause>(pick(0, kIdleCauseCount - 1));
    }
    return made;
  }
  std::mt19937_64 random_;
};

void expect_split(RandomSets const& of, Interval window, TimeSplit const& split) {
  DeviceSets const& sets = of.sets;

  EXPECT_EQ(split.window_ns, window.length());
  EXPECT_EQ(split.busy_ns, plain_measure(sets.busy, window));
  EXPECT_EQ(split.idle_ns, window.length() - plain_measure(sets.busy, window));
  EXPECT_EQ(split.compute_ns, plain_measure(sets.compute, window));
  EXPECT_EQ(split.comm_ns, plain_measure(sets.comm, window));
  EXPECT_EQ(split.copy_ns, plain_measure(sets.copy, window));
  EXPECT_EQ(split.exposed_comm_ns, plain_measure(sets.exposed_comm, window));
  EXPECT_EQ(split.exposed_copy_ns, plain_measure(sets.exposed_copy, window));
  EXPECT_EQ(split.exposed_wait_ns, plain_measure(sets.exposed_wait, window));
  EXPECT_EQ(split.exposed_late_ns, plain_measure(sets.exposed_late, window));
  EXPECT_EQ(split.unhidden_comm_ns, plain_measure(sets.unhidden_comm, window));

  EXPECT_EQ(split.blocking_comm_ns.has_value(), sets.blocking_comm.has_value());
  if (sets.blocking_comm) {
    EXPECT_EQ(split.blocking_comm_ns, plain_measure(*sets.blocking_comm, window));
  }

  EXPECT_EQ(split.unhidden_by_cause, plain_causes(sets.unhidden, window));
  EXPECT_EQ(split.idle_by_cause, plain_causes(of.gaps, window));
}

TEST(WindowSplitter, AgreesWithPlainSumsForWindowsInAnyOrder) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomSets of(seed);
    WindowSplitter splitter(of.sets, of.gaps);
    int64_t at = 0;
    for (int i = 0; i < 30; ++i) {
      bool const goes_back = of.pick(0, 5) == 0;
      int64_t const begin = goes_back ? of.pick(-5, 400) : at;
      Interval const window{begin, begin + of.pick(0, 60)};
      at = window.end + of.pick(0, 20);

      expect_split(of, window, splitter.split(window));
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", window " << window.begin << " to "
                                 << window.end;
    }
  }
}

TEST(SplitWithSteps, AgreesWithPlainSumsForTheWindowAndEachStep) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomSets of(seed);
    Interval const window{of.pick(-5, 60), of.pick(60, 400)};

    // The first step may begin before the window, and the last may end after it. Steps may touch,
    // be empty, and overlap in damaged traces. Where clocks disagree, the first may end before it
    // begins.
    std::vector<StepStats> steps;
    int64_t at = of.pick(-20, 80);
    for (int64_t i = of.pick(0, 12); i-- > 0;) {
      StepStats& step = steps.emplace_back();
      step.window = {at, at + of.pick(steps.size() == 1 ? -15 : 0, 50)};
      at = step.window.end + of.pick(seed % 10 == 0 ? -10 : 0, 9);
    }

    TimeSplit const whole = split_with_steps(of.sets, of.gaps, window, steps);
    expect_split(of, window, whole);
    for (StepStats const& step : steps)
      if (step.window.begin <= step.window.end) expect_split(of, step.window, step.time);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
