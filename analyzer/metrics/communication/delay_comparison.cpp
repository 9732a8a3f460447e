// WaitAttribution::add_device(): what a device did before each of its collectives, compared with
// what the other participants did.
#include "analyzer/metrics/communication/wait_attribution.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/metrics/communication/activity_index.h"

namespace stepscope::analyzer {
namespace {

using ActivityTimes = WaitAttribution::ActivityTimes;

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

}  // namespace

/// Compares what a device did before its collectives with what others did.
class WaitAttribution::Comparison {
 public:
  Comparison(WaitAttribution& all, Member const& member, DeviceSets const& sets,
             std::vector<IdleGap> const& gaps, std::vector<StepStats> const& steps,
             model::Trace const& trace)
      : all_(all), member_(member), sets_(sets), gaps_(gaps), steps_(steps), trace_(trace) {}

  void run() {
    find_done();
    for (uint32_t place = 0; place < member_.of.size(); ++place)
      if (Delay& delay = all_.delays_[member_.of[place].collective]; delay.wait_ns > 0)
        compare(place, delay);
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

  /// Adds what the device did before the collective to the differences of the delay: the late one's
  /// with weight 1, each waiter's with minus its share of the wait.
  void compare(uint32_t place, Delay& delay) {
    Participation const at = member_.of[place];
    auto const& own = all_.participant(at);
    ActivityTimes const& done = done_[place].until_begin;
    double weight = 1;
    if (at.participant != delay.late) {
      weight = -static_cast<double>(own.wait_ns) / static_cast<double>(delay.wait_ns);
      delay.waiters_known += static_cast<float>(-weight);
    }

    int64_t const step = done_[place].step;
    add(delay.more_of_step, weight, done, done_[place].until_step);
    int64_t end = step;
    if (delay.previous != kNone) {
      uint32_t const previous = all_.place_[delay.previous];
      end = all_.participant(member_.of[previous]).when.end;
      if (end < own.when.begin) add(delay.more, weight, done, done_[previous].until_end);
    }
    if (at.participant == delay.late) describe(delay, {step, own.when.begin}, end);
  }

  /// Fills done_ in one walk through what the device did.
  void find_done() {
    done_.resize(member_.of.size());
    std::vector<Question> steps, begins, ends;
    for (uint32_t place = 0; place < done_.size(); ++place) {
      Interval const when = all_.participant(member_.of[place]).when;
      Done& done = done_[place];
      done.step = begin_of_step(sets_, steps_, when.begin);
      steps.push_back({done.step, &done.until_step});
      begins.push_back({when.begin, &done.until_begin});
      ends.push_back({when.end, &done.until_end});
      all_.place_[member_.of[place].collective] = place;
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

  static void add(std::array<float, kActivityTimes>& to, double weight, ActivityTimes const& done,
                  ActivityTimes const& before) {
    for (size_t k = 0; k < kActivityTimes; ++k)
      to[k] += static_cast<float>(weight * static_cast<double>(done[k] - before[k]));
  }

  /// Fills what only the late one's trace tells. `when`: from the begin of its step to the
  /// collective; `end` of the collective before.
  void describe(Delay& delay, Interval when, int64_t end) {
    delay.is_late_known = true;
    auto const compute = std::partition_point(sets_.compute.begin(), sets_.compute.end(),
                                              [&](Interval const& i) { return i.end <= end; });
    delay.is_level =
        delay.previous != kNone && (compute == sets_.compute.end() || compute->begin >= end);
    delay.is_first_step = steps_.empty() || when.begin <= steps_.front().window.begin;
    if (delay.is_level) when.begin = std::min(end, when.end);
    delay.since = when.begin;
    name_host(delay, when);
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
  void name_host(Delay& delay, Interval when) {
    // Collectives of one step ask from the same instant on: each gap is added once.
    HostTimes& host = delay.is_level ? since_collective_ : since_step_;
    if (delay.is_level || host.since != when.begin) {
      auto first = std::partition_point(gaps_.begin(), gaps_.end(),
                                        [&](IdleGap const& g) { return g.when.end <= when.begin; });
      auto const last = std::partition_point(
          first, gaps_.end(), [&](IdleGap const& g) { return g.when.begin < when.end; });
      if (delay.is_level) first = last - std::min<ptrdiff_t>(last - first, kMostGaps);
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
      if (host.most[cause] > 0) delay.host[cause] = name(host.longest[cause]);
  }

  uint32_t name(uint32_t string) {
    auto const [known, is_new] = known_.try_emplace(string, 0U);
    if (!is_new) return known->second;
    std::string text(trace_.text(model::StringId{string}));
    auto const [id, is_new_name] =
        all_.name_ids_.try_emplace(text, static_cast<uint32_t>(all_.names_.size()));
    if (is_new_name) all_.names_.push_back(std::move(text));
    return known->second = id->second;
  }

  WaitAttribution& all_;
  Member const& member_;
  DeviceSets const& sets_;
  std::vector<IdleGap> const& gaps_;
  std::vector<StepStats> const& steps_;
  model::Trace const& trace_;
  std::vector<Done> done_;  ///< beside member_.of
  HostTimes since_step_ = {gaps_.end(), std::numeric_limits<int64_t>::min()},
            since_collective_ = since_step_;
  std::unordered_map<uint32_t, uint32_t> known_;  ///< string of the trace → place in names_
};

void WaitAttribution::add_device(DeviceRef ref, DeviceSets const& sets,
                                 std::vector<IdleGap> const& gaps,
                                 std::vector<StepStats> const& steps, model::Trace const& trace) {
  if (Member const* const member = find_member(ref))
    Comparison(*this, *member, sets, gaps, steps, trace).run();
}

}  // namespace stepscope::analyzer
