#include "analyzer/metrics/steps/step_numbers.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

namespace stepscope::analyzer {
namespace {

/// A step within a sequence of them: laps count from 0, numbers grow within one.
struct LapStep {
  int64_t lap, number;
  friend auto operator<=>(LapStep const&, LapStep const&) = default;
};

/// Steps of a rank that follow one another, on one thread or on several that take turns.
struct Sequence {
  size_t rank = 0;
  std::vector<HostStep*> steps;  ///< by time
  std::vector<LapStep> laps;     ///< beside steps, ascending
};

/// The median, which is moved to the middle; of two the shorter. 0 of none.
int64_t middle_of(std::vector<int64_t>& values) {
  if (values.empty()) return 0;
  auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The threads of a rank, each behind one that had ended when it began, as far as there is one.
void add_sequences(std::vector<std::vector<HostStep>>& threads, size_t rank,
                   std::vector<Sequence>& sequences) {
  std::vector<std::vector<HostStep>*> by_begin;
  for (std::vector<HostStep>& steps : threads)
    if (!steps.empty()) by_begin.push_back(&steps);
  std::stable_sort(by_begin.begin(), by_begin.end(), [](auto const* a, auto const* b) {
    return a->front().when.begin < b->front().when.begin;
  });

  size_t const first = sequences.size();
  for (std::vector<HostStep>* const steps : by_begin) {
    auto const free = std::find_if(
        sequences.begin() + static_cast<ptrdiff_t>(first), sequences.end(),
        [&](Sequence const& s) { return s.steps.back()->when.end <= steps->front().when.begin; });
    Sequence& to = free == sequences.end() ? sequences.emplace_back() : *free;
    to.rank = rank;
    for (HostStep& step : *steps) to.steps.push_back(&step);
  }
}

bool only_grows(Sequence const& sequence) {
  auto const& steps = sequence.steps;
  for (size_t i = 1; i < steps.size(); ++i)
    if (steps[i]->number <= steps[i - 1]->number) return false;
  return true;
}

void count_laps(Sequence& sequence) {
  int64_t lap = 0;
  for (size_t i = 0; i < sequence.steps.size(); ++i) {
    if (i > 0 && sequence.steps[i]->number <= sequence.steps[i - 1]->number) ++lap;
    sequence.laps.push_back({lap, sequence.steps[i]->number});
  }
}

/// Marks steps whose number is further on, and that begin later by about as many steps: those
/// between were not recorded. A number that is further on alone is how the program counts (samples,
/// every tenth).
void mark_gaps(Sequence& sequence) {
  std::vector<int64_t> periods, durations;
  auto const& steps = sequence.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    durations.push_back(steps[i]->when.length());
    if (i > 0 && steps[i]->number == steps[i - 1]->number + 1)
      periods.push_back(steps[i]->when.begin - steps[i - 1]->when.begin);
  }

  auto const steady = static_cast<double>(middle_of(periods.empty() ? durations : periods));
  for (size_t i = 1; i < steps.size(); ++i) {
    int64_t const ahead = steps[i]->number - steps[i - 1]->number;
    if (ahead <= 1) continue;
    auto const distance = static_cast<double>(steps[i]->when.begin - steps[i - 1]->when.begin);
    // Nearer to the time of `ahead` steps than to that of one.
    steps[i]->is_after_gap = 2 * distance > (1 + static_cast<double>(ahead)) * steady;
  }
}

/// How steps of a sequence agree with those of another whose laps began `shift` laps earlier.
struct Agreement {
  int64_t shift = 0;
  size_t count = 0;
  int64_t apart_ns = std::numeric_limits<int64_t>::max();  ///< median distance of their begins
};

Agreement agree(Sequence const& other, Sequence const& sequence, int64_t shift) {
  Agreement result{shift};
  std::vector<int64_t> apart;

  for (size_t i = 0, k = 0; i < sequence.laps.size() && k < other.laps.size();) {
    LapStep const shifted{sequence.laps[i].lap + shift, sequence.laps[i].number};
    if (shifted == other.laps[k]) {
      apart.push_back(std::abs(sequence.steps[i]->when.begin - other.steps[k]->when.begin));
      ++i, ++k;
    } else if (shifted < other.laps[k]) {
      ++i;
    } else {
      ++k;
    }
  }

  result.count = apart.size();
  if (!apart.empty()) result.apart_ns = middle_of(apart);
  return result;
}

/// Laps that are tried around the one that counting, and the one that the clocks, tell.
constexpr int64_t kTriedLaps = 4;

/// Clocks of hosts that no collective compares are that far apart at most: beyond it they tell
/// which steps ran at once.
constexpr int64_t kClockErrorNs = 100'000'000;

/// How many laps later than the other the sequence began.
int64_t laps_behind(Sequence const& other, Sequence const& sequence, bool are_clocks_good) {
  size_t const middle = sequence.steps.size() / 2;
  auto const at_once = std::partition_point(
      other.steps.begin(), other.steps.end() - 1,
      [&](HostStep const* step) { return step->when.end <= sequence.steps[middle]->when.begin; });
  int64_t const by_time = other.laps[static_cast<size_t>(at_once - other.steps.begin())].lap -
                          sequence.laps[middle].lap;
  std::vector<Agreement> tried;
  for (int64_t const around : {int64_t{0}, by_time})
    for (int64_t by = -kTriedLaps; by <= kTriedLaps; ++by)
      tried.push_back(agree(other, sequence, around + by));

  Agreement const most_alike =
      *std::max_element(tried.begin(), tried.end(), [](Agreement const& a, Agreement const& b) {
        return a.count != b.count ? a.count < b.count : a.apart_ns > b.apart_ns;
      });
  size_t const most = most_alike.count;
  // Good clocks decide among all that agree in most steps. A recording that lacks the first step
  // and has one more at its end has as many steps as the other.
  bool const is_by_time = are_clocks_good || (most > 0 && most_alike.apart_ns > kClockErrorNs);
  size_t const least = is_by_time ? most / 2 + 1 : most;
  Agreement best{};
  for (Agreement const& each : tried) {
    if (each.count < least || each.count == 0) continue;
    bool const is_nearer = each.apart_ns != best.apart_ns
                               ? each.apart_ns < best.apart_ns
                               : std::abs(each.shift) < std::abs(best.shift);
    if (best.count == 0 || is_nearer) best = each;
  }
  return best.shift;
}

/// Numbers all steps in the order of their laps.
void count_through(std::vector<Sequence>& sequences) {
  std::vector<LapStep> all;
  for (Sequence const& sequence : sequences)
    all.insert(all.end(), sequence.laps.begin(), sequence.laps.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());

  int64_t const first = std::max<int64_t>(0, all.front().number);
  for (Sequence& sequence : sequences) {
    auto at = all.begin();
    for (size_t i = 0; i < sequence.steps.size(); ++i) {
      at = std::lower_bound(at, all.end(), sequence.laps[i]);
      sequence.steps[i]->index = first + (at - all.begin());
    }
  }
}

}  // namespace

void number_steps(std::vector<std::vector<std::vector<HostStep>>>& threads, bool are_clocks_good) {
  std::vector<Sequence> sequences;
  for (size_t rank = 0; rank < threads.size(); ++rank)
    add_sequences(threads[rank], rank, sequences);
  if (sequences.empty()) return;
  for (Sequence& sequence : sequences) {
    mark_gaps(sequence);
    for (HostStep* const step : sequence.steps) step->index = step->number;
  }
  if (std::all_of(sequences.begin(), sequences.end(), only_grows)) return;

  for (Sequence& sequence : sequences) count_laps(sequence);
  Sequence const& longest = *std::max_element(
      sequences.begin(), sequences.end(),
      [](Sequence const& a, Sequence const& b) { return a.steps.size() < b.steps.size(); });
  for (Sequence& sequence : sequences) {
    if (&sequence == &longest) continue;
    // Threads of one process have one clock.
    int64_t const behind =
        laps_behind(longest, sequence, are_clocks_good || sequence.rank == longest.rank);
    for (LapStep& step : sequence.laps) step.lap += behind;
  }
  count_through(sequences);
}

}  // namespace stepscope::analyzer
