// compare_delays(): what a device did before each of its collectives, as its part of the comparison
// with what the other participants did.
#include "analyzer/metrics/communication/device_delays.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "analyzer/metrics/communication/activity_index.h"

namespace stepscope::analyzer {
namespace {

/// The host op is looked for in so many gaps before a collective: bounds the cost of damaged
/// traces.
constexpr size_t kMostGaps = 4096;

bool has_host(IdleCause cause) {
  return cause == IdleCause::kProfiler || cause == IdleCause::kAllocation ||
         cause == IdleCause::kSync || cause == IdleCause::kInput ||
         cause == IdleCause::kLaunchBound;
}

/// Walks forward through the sets of a device and sums what it has done until an instant.
class ActivityCursor {
 public:
  ActivityCursor(DeviceSets const& sets, std::vector<IdleGap> const& gaps)
      : compute_(sets.compute),
        comm_(sets.exposed_comm),
        copy_(sets.exposed_copy),
        wait_(sets.exposed_wait),
        gap_(gaps.begin()),
        last_gap_(gaps.end()) {}

  /// Instants must not decrease.
  ActivityTimes at(int64_t instant) {
    for (; gap_ != last_gap_ && gap_->when.end <= instant; ++gap_)
      idle_[static_cast<size_t>(gap_->cause)] += gap_->when.length();

    ActivityTimes done{};
    std::copy(idle_.begin(), idle_.end(), done.begin() + kFirstIdleActivity);
    if (gap_ != last_gap_ && gap_->when.begin < instant)
      done[activity_index(gap_->cause)] += instant - gap_->when.begin;

    int64_t const waited = wait_.until(instant);
    done[kDoesCompute] = compute_.until(instant);
    done[kDoesTransfer] = comm_.until(instant) - waited;
    done[kDoesCopy] = copy_.until(instant);
    done[activity_index(IdleCause::kPeer)] += waited;
    return done;
  }

 private:
  struct Cursor {
    explicit Cursor(model::IntervalSet const& set) : next(set.begin()), last(set.end()) {}
    int64_t until(int64_t instant) {
      for (; next != last && next->end <= instant; ++next) passed += next->length();
      return next != last && next->begin < instant ? passed + (instant - next->begin) : passed;
    }
    model::IntervalSet::const_iterator next, last;
    int64_t passed = 0;
  };
  Cursor compute_, comm_, copy_, wait_;
  std::vector<IdleGap>::const_iterator gap_, last_gap_;
  IdleSplit idle_{};
};

/// Begin of the last step that had begun, else of the device's first op; no later than `instant`.
int64_t begin_of_step(DeviceSets const& sets, std::vector<StepStats> const& steps,
                      int64_t instant) {
  auto const after = std::partition_point(
      steps.begin(), steps.end(), [&](StepStats const& s) { return s.window.begin <= instant; });
  if (after != steps.begin()) return std::prev(after)->window.begin;
  return sets.busy.empty() ? instant : std::min(instant, sets.busy.front().begin);
}

/// Compares what a device did before its collectives with what others did.
class DelayComparison {
 public:
  DelayComparison(CollectivesOfDevice const& collectives, DeviceSets const& sets,
                  std::vector<IdleGap> const& gaps, std::vector<StepStats> const& steps,
                  model::Trace const& trace, DeviceDelays& delays)
      : of_(collectives.of),
        sets_(sets),
        gaps_(gaps),
        steps_(steps),
        trace_(trace),
        delays_(delays) {}

  void run() {
    find_done();
    delays_.differences.resize(of_.size());
    for (uint32_t place = 0; place < of_.size(); ++place)
      if (of_[place].all_wait_ns > 0) compare(place);
  }

 private:
  /// Sums until the begin of the collective's step, its own begin, and its end.
  struct Done {
    int64_t step = 0;  ///< begin
    ActivityTimes until_step{}, until_begin{}, until_end{};
  };
  struct Question {
    int64_t instant;
    ActivityTimes* answer;
    bool operator<(Question const& other) const { return instant < other.instant; }
  };

  /// What the device did before the collective: the late one's with weight 1, each waiter's with
  /// minus its share of the wait.
  void compare(uint32_t place) {
    CollectivesOfDevice::One const& own = of_[place];
    DeviceDelays::Difference& difference = delays_.differences[place];
    ActivityTimes const& done = done_[place].until_begin;
    double weight = 1;
    if (!own.is_late) {
      weight = -static_cast<double>(own.wait_ns) / static_cast<double>(own.all_wait_ns);
      difference.waiters_known = static_cast<float>(-weight);
    }

    int64_t const step = done_[place].step;
    difference.more_of_step = weighted(weight, done, done_[place].until_step);
    int64_t end = step;
    if (own.previous != CollectivesOfDevice::kNone) {
      end = of_[own.previous].when.end;
      if (end < own.when.begin)
        difference.more = weighted(weight, done, done_[own.previous].until_end);
    }
    if (own.is_late) describe(place, {step, own.when.begin}, end);
  }

  /// Fills done_ in one walk through what the device did.
  void find_done() {
    done_.resize(of_.size());
    std::vector<Question> steps, begins, ends;
    for (uint32_t place = 0; place < done_.size(); ++place) {
      Interval const when = of_[place].when;
      Done& done = done_[place];
      done.step = begin_of_step(sets_, steps_, when.begin);
      steps.push_back({done.step, &done.until_step});
      begins.push_back({when.begin, &done.until_begin});
      ends.push_back({when.end, &done.until_end});
    }
    // Collectives come by begin, and so do the begins of their steps.
    if (!std::is_sorted(ends.begin(), ends.end())) std::sort(ends.begin(), ends.end());

    // The three lists are merged, as the cursor moves forward only.
    ActivityCursor until(sets_, gaps_);
    std::array<std::span<Question const>, 3> lists = {steps, begins, ends};
    auto const is_earlier = [](std::span<Question const> a, std::span<Question const> b) {
      return !a.empty() && (b.empty() || a.front() < b.front());
    };
    for (;;) {
      auto& next = *std::min_element(lists.begin(), lists.end(), is_earlier);
      if (next.empty()) break;
      *next.front().answer = until.at(next.front().instant);
      next = next.subspan(1);
    }
  }

  static std::array<float, kActivityTimes> weighted(double weight, ActivityTimes const& done,
                                                    ActivityTimes const& before) {
    std::array<float, kActivityTimes> result{};
    for (size_t k = 0; k < kActivityTimes; ++k)
      result[k] = static_cast<float>(weight * static_cast<double>(done[k] - before[k]));
    return result;
  }

  /// What only the late one's trace tells. `when`: from the begin of its step to the collective;
  /// `end` of the collective before.
  void describe(uint32_t place, Interval when, int64_t end) {
    DeviceDelays::Late& late = delays_.late.emplace_back();
    late.place = place;
    auto const compute = std::partition_point(sets_.compute.begin(), sets_.compute.end(),
                                              [&](Interval const& i) { return i.end <= end; });
    late.is_level = of_[place].previous != CollectivesOfDevice::kNone &&
                    (compute == sets_.compute.end() || compute->begin >= end);
    late.is_first_step = steps_.empty() || when.begin <= steps_.front().window.begin;

    if (late.is_level) when.begin = std::min(end, when.end);
    late.since = when.begin;
    name_host(late, when);
  }

  /// Time of each host op in the gaps from an instant on: grows as gaps are added.
  struct HostTimes {
    std::vector<IdleGap>::const_iterator next;  ///< gap
    int64_t since = 0;
    std::unordered_map<uint64_t, int64_t> times = {};  ///< by cause and name
    IdleSplit most = {};
    std::array<uint32_t, kIdleCauseCount> longest = {};  ///< string of the trace

    void begin(std::vector<IdleGap>::const_iterator first, int64_t instant) {
      next = first;
      since = instant;
      times.clear();
      most = {};
    }
  };

  /// Finds the op in which the host was longest while the device was idle, by cause.
  void name_host(DeviceDelays::Late& late, Interval when) {
    // Collectives of one step ask from the same instant on: each gap is added once.
    HostTimes& host = late.is_level ? since_collective_ : since_step_;
    if (late.is_level || host.since != when.begin) {
      auto first = std::partition_point(gaps_.begin(), gaps_.end(),
                                        [&](IdleGap const& g) { return g.when.end <= when.begin; });
      auto const last = std::partition_point(
          first, gaps_.end(), [&](IdleGap const& g) { return g.when.begin < when.end; });
      if (late.is_level) first = last - std::min<ptrdiff_t>(last - first, kMostGaps);
      host.begin(first, when.begin);
    }

    for (; host.next != gaps_.end() && host.next->when.end <= when.end; ++host.next) {
      IdleGap const& gap = *host.next;
      if (!gap.host_row.valid() || !has_host(gap.cause)) continue;
      uint32_t const string = gap.host_name.value;
      auto const cause = static_cast<size_t>(gap.cause);
      int64_t& time = host.times[(static_cast<uint64_t>(cause) << 32) | string];
      time += gap.when.end - std::max(gap.when.begin, when.begin);
      if (time > host.most[cause]) host.most[cause] = time, host.longest[cause] = string;
    }

    for (size_t cause = 0; cause < kIdleCauseCount; ++cause)
      if (host.most[cause] > 0) late.host[cause] = name(host.longest[cause]);
  }

  uint32_t name(uint32_t string) {
    auto const [known, is_new] =
        known_.try_emplace(string, static_cast<uint32_t>(delays_.names.size()));
    if (is_new) delays_.names.emplace_back(trace_.text(model::StringId{string}));
    return known->second;
  }

  std::vector<CollectivesOfDevice::One> const& of_;
  DeviceSets const& sets_;
  std::vector<IdleGap> const& gaps_;
  std::vector<StepStats> const& steps_;
  model::Trace const& trace_;
  DeviceDelays& delays_;
  std::vector<Done> done_;  ///< beside of_
  HostTimes since_step_ = {gaps_.end(), std::numeric_limits<int64_t>::min()},
            since_collective_ = since_step_;
  std::unordered_map<uint32_t, uint32_t> known_;  ///< string of the trace → place in the names
};

}  // namespace

void compare_delays(CollectivesOfDevice const& collectives, DeviceSets const& sets,
                    std::vector<IdleGap> const& gaps, std::vector<StepStats> const& steps,
                    model::Trace const& trace, DeviceDelays& delays) {
  DelayComparison(collectives, sets, gaps, steps, trace, delays).run();
}

}  // namespace stepscope::analyzer
