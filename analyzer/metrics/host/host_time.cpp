#include "analyzer/metrics/host/host_time.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/host/host_steps.h"
#include "analyzer/metrics/host/innermost_host_events.h"
#include "analyzer/metrics/time/phases.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// Disjoint intervals by time; measures any stretch of them in O(log intervals).
class PeriodSet {
 public:
  void add(Interval when) {
    if (!periods_.empty()) when.begin = std::max(when.begin, periods_.back().end);
    if (when.begin >= when.end) return;
    before_.push_back(total_);
    periods_.push_back(when);
    add_saturated(total_, when.length());
  }
  [[nodiscard]] bool empty() const { return periods_.empty(); }
  [[nodiscard]] int64_t measure(int64_t begin, int64_t end) const {
    return end <= begin || empty() ? 0 : covered_until(end) - covered_until(begin);
  }

 private:
  [[nodiscard]] int64_t covered_until(int64_t instant) const {
    auto const after = std::partition_point(periods_.begin(), periods_.end(),
                                            [&](Interval p) { return p.begin < instant; });
    if (after == periods_.begin()) return 0;
    auto const at = static_cast<size_t>(after - periods_.begin()) - 1;
    return before_[at] + std::min(instant, periods_[at].end) - periods_[at].begin;
  }
  std::vector<Interval> periods_;
  std::vector<int64_t> before_;  ///< beside periods_: length of those before
  int64_t total_ = 0;
};

/// The steps against which a thread's time is measured: its own or, where it has none, those of the
/// thread with most steps.
struct ThreadPeriods {
  PeriodSet steady, slow;
};

/// Sums over the ranges of one name.
struct NameSums {
  uint64_t count = 0;
  int64_t inclusive = 0, exclusive = 0, longest = 0;
  int64_t counted_inclusive = 0;  ///< in steps that count, the slow ones among them
  int64_t steady_exclusive = 0, slow_exclusive = 0;
  int64_t covered_until = std::numeric_limits<int64_t>::min();  ///< on the thread `thread`
  uint32_t thread = std::numeric_limits<uint32_t>::max();
  HostRangeKind kind = HostRangeKind::kRange;
};

/// Goes through the threads of a process, one after the other.
class HostSweep {
 public:
  HostSweep(model::RankTrace const& rank, std::vector<std::vector<HostStep>> const& steps,
            std::optional<Interval> within)
      : rank_(rank),
        rows_(rank),
        steps_(steps),
        within_(within),
        sums_(rank.trace.strings().size() + 1) {}

  /// Adds the thread's events to the sums. Returns the thread's own row.
  HostThreadStats thread(uint32_t track, ThreadPeriods const& periods) {
    periods_ = &periods;
    now_ = std::numeric_limits<int64_t>::min();
    HostThreadStats facts;
    facts.track = track;

    int64_t busy_until = std::numeric_limits<int64_t>::min();
    size_t next_step = 0;

    model::Trace::Rows const rows = rank_.trace.rows_of(model::TrackId{track});
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (!is_host_activity(rows_.kind(row))) continue;
      if (!touches_window(rows_.when(row))) continue;

      Interval const when = clipped(rows_.when(row));
      ++facts.events;
      add_saturated(facts.busy_ns,
                    std::max<int64_t>(when.end - std::max(when.begin, busy_until), 0));
      busy_until = std::max(busy_until, when.end);
      window_ = {std::min(window_.begin, when.begin), std::max(window_.end, when.end)};

      advance(when.begin);
      bool const is_step = is_step_row(row, track, next_step);
      facts.steps += is_step ? 1 : 0;
      open(row, is_step ? kOutside : rows_.name(row).value, when, track);
    }

    advance(std::numeric_limits<int64_t>::max());
    open_.clear();
    return facts;
  }

  [[nodiscard]] Interval window() const { return window_; }
  [[nodiscard]] std::span<NameSums> sums() { return std::span(sums_).first(sums_.size() - 1); }
  /// Time in a step, or between steps, in which no range ran; a thread's time outside of all of its
  /// events is not in it.
  [[nodiscard]] NameSums const& outside() const { return sums_.back(); }

 private:
  struct Open {
    uint32_t name;
    int64_t end;
  };
  static constexpr uint32_t kOutside = std::numeric_limits<uint32_t>::max();

  [[nodiscard]] bool touches_window(Interval when) const {
    if (!within_) return true;
    bool const is_before =
        when.end < within_->begin || (when.end == within_->begin && when.begin < when.end);
    return !is_before && when.begin < within_->end;
  }
  [[nodiscard]] Interval clipped(Interval when) const {
    return within_
               ? Interval{std::max(when.begin, within_->begin), std::min(when.end, within_->end)}
               : when;
  }
  [[nodiscard]] NameSums& sums_of(uint32_t name) {
    return name == kOutside ? sums_.back() : sums_[name];
  }

  /// Whether the row is one of the thread's steps. Rows and steps come in the same order.
  bool is_step_row(uint32_t row, uint32_t track, size_t& next) const {
    std::vector<HostStep> const& steps = steps_[track];
    Interval const when = rows_.when(row);
    while (next < steps.size() && steps[next].when.begin < when.begin) ++next;
    if (next == steps.size() || steps[next].when.begin != when.begin ||
        steps[next].when.end != when.end) {
      return rows_.kind(row) == EventKind::kStep;
    }
    ++next;
    return true;
  }

  /// The innermost open range gets the time from now_ to `until`.
  void advance(int64_t until) {
    while (!open_.empty() && now_ < until) {
      Open const top = open_.back();
      int64_t const end = std::min(top.end, until);
      if (end > now_) {
        NameSums& sums = sums_of(top.name);
        add_saturated(sums.exclusive, end - now_);
        add_saturated(sums.steady_exclusive, periods_->steady.measure(now_, end));
        add_saturated(sums.slow_exclusive, periods_->slow.measure(now_, end));
        now_ = end;
      }
      if (top.end <= now_) open_.pop_back();
    }

    now_ = std::max(now_, until);
  }

  void open(uint32_t row, uint32_t name, Interval when, uint32_t track) {
    NameSums& sums = sums_of(name);
    if (sums.thread != track) {
      sums.thread = track;
      sums.covered_until = std::numeric_limits<int64_t>::min();
    }

    int64_t const begin = std::max(when.begin, sums.covered_until);
    if (begin < when.end) {
      add_saturated(sums.inclusive, when.end - begin);
      add_saturated(sums.counted_inclusive, periods_->steady.measure(begin, when.end));
      add_saturated(sums.counted_inclusive, periods_->slow.measure(begin, when.end));
      sums.covered_until = when.end;
    }

    ++sums.count;
    sums.longest = std::max(sums.longest, when.length());
    if (rows_.kind(row) == EventKind::kPhase) sums.kind = HostRangeKind::kPhase;
    if (rows_.kind(row) == EventKind::kInputWait) sums.kind = HostRangeKind::kInput;

    if (when.begin < when.end) open_.push_back({name, when.end});
  }

  model::RankTrace const& rank_;
  RowView rows_;
  std::vector<std::vector<HostStep>> const& steps_;
  std::optional<Interval> within_;
  std::vector<NameSums> sums_;  ///< by string; the last is that of time in no range
  ThreadPeriods const* periods_ = nullptr;
  std::vector<Open> open_;
  int64_t now_ = 0;
  Interval window_{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
};

/// Indexed by track; filled for threads with steps.
std::vector<ThreadPeriods> periods_of(HostStats const& facts, size_t tracks) {
  std::vector<ThreadPeriods> periods(tracks);
  std::vector<bool> const is_steady = steady_host_steps(facts);
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    HostStepStats const& step = facts.steps[i];
    if (step.warmup) continue;
    (is_steady[i] ? periods[step.track].steady : periods[step.track].slow).add(step.period);
  }
  return periods;
}

/// Where a thread has no steps of its own: those of the thread with most; −1: no thread has some.
std::optional<uint32_t> thread_with_most_steps(std::vector<std::vector<HostStep>> const& steps) {
  std::optional<uint32_t> most;
  for (uint32_t track = 0; track < steps.size(); ++track)
    if (!steps[track].empty() && (!most || steps[track].size() > steps[*most].size())) most = track;
  return most;
}

std::optional<Interval> chosen_window(HostStats const& facts, AnalyzeOptions const& options) {
  if (!options.steps) return std::nullopt;
  Interval window{};
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    Interval const period = facts.steps[i].period;
    window = i == 0
                 ? period
                 : Interval{std::min(window.begin, period.begin), std::max(window.end, period.end)};
  }
  return window;
}

/// Names that say what they are: phases where the program marks none, waits of loaders.
void name_kinds(model::Trace const& trace, std::span<NameSums> sums) {
  bool const has_phases = std::any_of(
      sums.begin(), sums.end(), [](NameSums const& s) { return s.kind == HostRangeKind::kPhase; });

  for (uint32_t id = 0; id < sums.size(); ++id) {
    if (sums[id].count == 0 || sums[id].kind != HostRangeKind::kRange) continue;
    std::string_view const name = trace.text(model::StringId{id});
    if (is_input_wait_name(name))
      sums[id].kind = HostRangeKind::kInput;
    else if (!has_phases && is_phase_name(name))
      sums[id].kind = HostRangeKind::kPhase;
  }
}

uint64_t steady_count(HostStats const& facts) {
  std::vector<bool> const is_steady = steady_host_steps(facts);
  return static_cast<uint64_t>(std::count(is_steady.begin(), is_steady.end(), true));
}

void add_ranges(model::Trace const& trace, std::span<NameSums const> sums, HostStats& facts) {
  auto const counted = static_cast<int64_t>(facts.counted_steps),
             steady = static_cast<int64_t>(steady_count(facts));
  for (uint32_t id = 0; id < sums.size(); ++id) {
    NameSums const& of_name = sums[id];
    if (of_name.count == 0) continue;

    HostRangeStats row;
    row.name = trace.text(model::StringId{id});
    row.kind = of_name.kind;
    row.count = of_name.count;
    row.inclusive_ns = of_name.inclusive;
    row.exclusive_ns = of_name.exclusive;
    row.longest_ns = of_name.longest;

    if (counted > 0) {
      int64_t exclusive = of_name.steady_exclusive;
      add_saturated(exclusive, of_name.slow_exclusive);
      row.step_inclusive_ns = of_name.counted_inclusive / counted;
      row.step_exclusive_ns = exclusive / counted;
    }
    if (steady > 0) row.steady_exclusive_ns = of_name.steady_exclusive / steady;

    facts.ranges.push_back(std::move(row));
  }

  std::sort(facts.ranges.begin(), facts.ranges.end(),
            [](HostRangeStats const& a, HostRangeStats const& b) {
              return std::tuple(-a.exclusive_ns, -a.inclusive_ns, std::string_view(a.name)) <
                     std::tuple(-b.exclusive_ns, -b.inclusive_ns, std::string_view(b.name));
            });
}

/// Sums up the names beyond kMostHostRanges.
void join_further(std::vector<HostRangeStats>& ranges) {
  if (ranges.size() <= kMostHostRanges) return;
  HostRangeStats rest;
  rest.names = 0;

  for (size_t i = kMostHostRanges; i < ranges.size(); ++i) {
    HostRangeStats const& row = ranges[i];
    rest.names += 1;
    rest.count += row.count;
    add_saturated(rest.inclusive_ns, row.inclusive_ns);
    add_saturated(rest.exclusive_ns, row.exclusive_ns);
    rest.longest_ns = std::max(rest.longest_ns, row.longest_ns);
    if (row.step_inclusive_ns)
      rest.step_inclusive_ns = rest.step_inclusive_ns.value_or(0) + *row.step_inclusive_ns;
    if (row.step_exclusive_ns)
      rest.step_exclusive_ns = rest.step_exclusive_ns.value_or(0) + *row.step_exclusive_ns;
    if (row.steady_exclusive_ns)
      rest.steady_exclusive_ns = rest.steady_exclusive_ns.value_or(0) + *row.steady_exclusive_ns;
  }

  ranges.resize(kMostHostRanges);
  ranges.push_back(std::move(rest));
}

/// Finds the range that takes most more exclusive time in slow steps than in steady ones; time
/// outside of all ranges is one, too.
void add_difference(model::Trace const& trace, HostSweep& sweep, HostStats& facts) {
  if (!facts.slow) return;
  auto const steady = static_cast<double>(steady_count(facts));
  double const slow = static_cast<double>(facts.counted_steps) - steady;
  auto const growth = [&](NameSums const& sums) {
    return static_cast<double>(sums.slow_exclusive) / slow -
           static_cast<double>(sums.steady_exclusive) / steady;
  };

  std::span<NameSums const> const sums = sweep.sums();
  std::optional<uint32_t> most;
  for (uint32_t id = 0; id < sums.size(); ++id)
    if (sums[id].count > 0 && (!most || growth(sums[id]) > growth(sums[*most]))) most = id;

  double outside = static_cast<double>(facts.slow->mean_ns - facts.slow->steady_ns);
  for (NameSums const& of_name : sums) outside -= growth(of_name);
  bool const is_named = most && growth(sums[*most]) >= outside;

  facts.slow->differs_ns = static_cast<int64_t>(is_named ? growth(sums[*most]) : outside);
  if (is_named) facts.slow->differs = std::string(trace.text(model::StringId{*most}));
}

}  // namespace

char const* to_string(HostRangeKind kind) {
  switch (kind) {
    case HostRangeKind::kPhase:
      return "phase";
    case HostRangeKind::kInput:
      return "input";
    case HostRangeKind::kRange:
      break;
  }
  return "range";
}

std::optional<HostStats> host_facts(model::RankTrace const& rank, int32_t rank_index,
                                    std::vector<std::vector<HostStep>> const& steps,
                                    AnalyzeOptions const& options) {
  model::Trace const& trace = rank.trace;
  HostStats facts;
  facts.rank_index = rank_index;
  HostActivity host(rank, steps);
  add_host_steps(host, trace.info(), steps, options, facts);
  if (options.steps && facts.steps.empty()) return std::nullopt;

  std::optional<Interval> const within = chosen_window(facts, options);
  std::vector<ThreadPeriods> const periods = periods_of(facts, trace.tracks().size());
  std::optional<uint32_t> const main = thread_with_most_steps(steps);
  HostSweep sweep(rank, steps, within);
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    model::Track const& about = trace.tracks()[track];
    if (about.kind != model::TrackKind::kThread || about.device >= 0) continue;
    HostThreadStats thread =
        sweep.thread(track, periods[steps[track].empty() && main ? *main : track]);
    if (thread.events == 0) continue;
    thread.name = about.name;
    model::IntervalSet const& input = host.thread(model::TrackId{track}).input;
    thread.input_ns = measure_in(input, within.value_or(sweep.window()));
    facts.threads.push_back(std::move(thread));
  }
  if (facts.threads.empty()) return std::nullopt;

  facts.window = sweep.window();
  // What only marks steps works nowhere itself.
  auto const key = [](HostThreadStats const& thread) {
    return std::pair(thread.events == thread.steps, -thread.busy_ns);
  };
  std::stable_sort(
      facts.threads.begin(), facts.threads.end(),
      [&](HostThreadStats const& a, HostThreadStats const& b) { return key(a) < key(b); });
  name_kinds(trace, sweep.sums());
  add_ranges(trace, sweep.sums(), facts);
  add_difference(trace, sweep, facts);
  join_further(facts.ranges);
  return facts;
}

}  // namespace stepscope::analyzer
