#include "analyzer/metrics/communication/wait_attribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <tbb/parallel_for.h>

namespace stepscope::analyzer {
namespace {

using ActivityTimes = WaitAttribution::ActivityTimes;

constexpr size_t kDoesCompute = 0, kDoesTransfer = 1, kDoesCopy = 2;
constexpr size_t doing_of(IdleCause cause) { return 3 + static_cast<size_t>(cause); }

/// Calls of one communicator end in their order; few are under way at once. Further back nothing is looked for.
constexpr int kMostUnderWay = 8;
/// Of so many gaps before a collective the host op is looked for, and so many collectives before it are those that the late
/// device can have waited in: bounds what damaged traces cost.
constexpr size_t kMostGaps = 4096;
constexpr size_t kMostEarlier = 256;

/// Damaged traces claim durations whose sum overflows.
int64_t saturating_sum(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

/// Collectives, and the steps that begin with their ends, end within some µs of each other, not at once: so much two ranks that
/// were level may differ by.
constexpr double kEndsAgreeNs = 10'000;
/// … and of a long wait this share: who waits for longer ends its step a little later, too.
constexpr double kEndsAgreeShare = 0.05;

bool has_host(IdleCause cause) {
  return cause == IdleCause::kProfiler || cause == IdleCause::kAllocation || cause == IdleCause::kSync ||
         cause == IdleCause::kInput || cause == IdleCause::kLaunchStarved;
}

/// Walks forward through the sets of a device and says what it has done until an instant.
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
    for (; gap_ != last_gap_ && gap_->when.end <= instant; ++gap_) idle_[static_cast<size_t>(gap_->cause)] += gap_->when.length();
    ActivityTimes done{};
    std::copy(idle_.begin(), idle_.end(), done.begin() + 3);
    if (gap_ != last_gap_ && gap_->when.begin < instant) done[doing_of(gap_->cause)] += instant - gap_->when.begin;
    int64_t const waited = wait_.until(instant);
    done[kDoesCompute] = compute_.until(instant);
    done[kDoesTransfer] = comm_.until(instant) - waited;
    done[kDoesCopy] = copy_.until(instant);
    done[doing_of(IdleCause::kPeer)] += waited;
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

bool is_same_group(CollectiveStats const& a, CollectiveStats const& b) {
  return std::equal(a.participants.begin(), a.participants.end(), b.participants.begin(), b.participants.end(),
                    [](auto const& x, auto const& y) { return x.ref == y.ref; });
}

std::vector<DeviceRef> sorted_refs(CollectiveStats const& collective) {
  std::vector<DeviceRef> refs;
  for (auto const& participant : collective.participants) refs.push_back(participant.ref);
  std::sort(refs.begin(), refs.end());
  return refs;
}

/// Numbers the sets of devices that take part in collectives.
class ParticipantGroups {
 public:
  explicit ParticipantGroups(std::vector<CollectiveStats> const& collectives) : collectives_(collectives) {}
  uint32_t of(uint32_t collective) {
    CollectiveStats const& facts = collectives_[collective];
    auto const [last, is_new] = by_communicator_.try_emplace(facts.communicator, Last{collective, 0});
    if (is_new || !is_same_group(collectives_[last->second.collective], facts))
      last->second = {collective, look_up(sorted_refs(facts))};
    return last->second.group;
  }

 private:
  struct Last {
    uint32_t collective, group;
  };
  uint32_t look_up(std::vector<DeviceRef> refs) {
    uint64_t hash = 14695981039346656037ULL;  // FNV-1a
    for (DeviceRef const ref : refs)
      for (auto const part : {static_cast<uint32_t>(ref.rank_index), static_cast<uint32_t>(ref.device)})
        hash = (hash ^ part) * 1099511628211ULL;
    auto const [first, last] = by_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at)
      if (refs_[at->second] == refs) return at->second;
    refs_.push_back(std::move(refs));
    return by_hash_.emplace(hash, static_cast<uint32_t>(refs_.size() - 1))->second;
  }
  std::vector<CollectiveStats> const& collectives_;
  std::unordered_map<uint64_t, Last> by_communicator_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::vector<std::vector<DeviceRef>> refs_;
};

/// The participant that is this device; `guess` is looked at first.
CollectiveStats::Participant const* participant_of(CollectiveStats const& collective, DeviceRef ref, size_t guess) {
  auto const& participants = collective.participants;
  if (guess < participants.size() && participants[guess].ref == ref) return &participants[guess];
  auto const found = std::find_if(participants.begin(), participants.end(), [&](auto const& p) { return p.ref == ref; });
  return found == participants.end() ? nullptr : &*found;
}

/// Begin of the last step that had begun, else of the device's first op; no later than `instant`.
int64_t begin_of_step(DeviceSets const& sets, std::vector<StepStats> const& steps, int64_t instant) {
  auto const after =
      std::partition_point(steps.begin(), steps.end(), [&](StepStats const& s) { return s.window.begin <= instant; });
  if (after != steps.begin()) return std::prev(after)->window.begin;
  return sets.busy.empty() ? instant : std::min(instant, sets.busy.front().begin);
}

}  // namespace

/// Compares what a device did before its collectives with what others did.
class WaitAttribution::Comparison {
 public:
  Comparison(WaitAttribution& all, Member const& member, DeviceSets const& sets, std::vector<IdleGap> const& gaps,
             std::vector<StepStats> const& steps, model::Trace const& trace)
      : all_(all), member_(member), sets_(sets), gaps_(gaps), steps_(steps), trace_(trace) {}

  void run() {
    find_done();
    for (uint32_t place = 0; place < member_.of.size(); ++place) {
      Participation const at = member_.of[place];
      Delay& delay = all_.delays_[at.collective];
      if (delay.wait_ns == 0) continue;
      auto const& own = all_.participant(at);
      ActivityTimes const& done = done_[place].until_begin;
      int64_t const step = done_[place].step;
      double weight = 1;
      if (at.participant != delay.late) {
        weight = -static_cast<double>(own.wait_ns) / static_cast<double>(delay.wait_ns);
        delay.waiters_known += static_cast<float>(-weight);
      }
      add(delay.more_of_step, weight, done, done_[place].until_step);
      int64_t end = step;
      if (delay.previous != kNone) {
        uint32_t const previous = all_.place_[delay.previous];
        end = all_.participant(member_.of[previous]).when.end;
        if (end < own.when.begin) add(delay.more, weight, done, done_[previous].until_end);
      }
      if (at.participant == delay.late) describe(delay, {step, own.when.begin}, end);
    }
  }

 private:
  /// What the device had done around a collective: when its step began, when it began, and when it ended.
  struct Done {
    int64_t step = 0;  ///< begin
    ActivityTimes until_step{}, until_begin{}, until_end{};
  };
  struct Question {
    int64_t instant;
    ActivityTimes* answer;
    bool operator<(Question const& other) const { return instant < other.instant; }
  };
  /// For all in one walk through what it did.
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

  static void add(std::array<float, kActivityTimes>& to, double weight, ActivityTimes const& done, ActivityTimes const& before) {
    for (size_t k = 0; k < kActivityTimes; ++k) to[k] += static_cast<float>(weight * static_cast<double>(done[k] - before[k]));
  }

  /// What only the late one knows. `when`: from the begin of its step to the collective; `end` of the collective before.
  void describe(Delay& delay, Interval when, int64_t end) {
    delay.is_late_known = true;
    auto const compute =
        std::partition_point(sets_.compute.begin(), sets_.compute.end(), [&](Interval const& i) { return i.end <= end; });
    delay.is_level = delay.previous != kNone && (compute == sets_.compute.end() || compute->begin >= end);
    delay.is_first_step = steps_.empty() || when.begin <= steps_.front().window.begin;
    if (delay.is_level) when.begin = std::min(end, when.end);
    delay.since = when.begin;
    name_host(delay, when);
  }

  /// What the host was in, in the gaps from an instant on: grows as gaps are added.
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

  void name_host(Delay& delay, Interval when) {
    // From the begin of a step on it is asked again and again, and gaps are added once.
    HostTimes& host = delay.is_level ? since_collective_ : since_step_;
    if (delay.is_level || host.since != when.begin) {
      auto first = std::partition_point(gaps_.begin(), gaps_.end(), [&](IdleGap const& g) { return g.when.end <= when.begin; });
      auto const last = std::partition_point(first, gaps_.end(), [&](IdleGap const& g) { return g.when.begin < when.end; });
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
    auto const [id, is_new_name] = all_.name_ids_.try_emplace(text, static_cast<uint32_t>(all_.names_.size()));
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
  HostTimes since_step_ = {gaps_.end(), std::numeric_limits<int64_t>::min()}, since_collective_ = since_step_;
  std::unordered_map<uint32_t, uint32_t> known_;  ///< string of the trace → place in names_
};

/// How much earlier a device's collectives would have ended, had nobody come late. They must come by begin.
class WaitAttribution::Lateness {
 public:
  explicit Lateness(std::vector<ReadyCollective> const& ready) : ready_(ready) {}

  int64_t of(CollectiveStats::Participant const& own) {
    Stream& stream = streams_[own.track.value];
    int64_t inherited = 0;
    // Later than this, something else kept it.
    constexpr int64_t kAtOnceNs = 10'000;
    if (stream.late_ns > 0 && own.when.begin - stream.end < kAtOnceNs)
      inherited = std::min(stream.late_ns, own.when.begin - ready_at(own));
    stream = {own.when.end, saturating_sum(own.wait_ns, inherited)};
    return stream.late_ns;
  }

 private:
  struct Stream {
    int64_t end = 0, late_ns = 0;  ///< of its last collective
  };
  /// Its begin where nothing earlier is known.
  [[nodiscard]] int64_t ready_at(CollectiveStats::Participant const& own) const {
    auto const at = std::lower_bound(ready_.begin(), ready_.end(), ReadyCollective{own.when.begin, own.track.value, INT64_MIN});
    bool const is_known = at != ready_.end() && at->begin == own.when.begin && at->track == own.track.value;
    return is_known ? at->ready : own.when.begin;
  }

  std::vector<ReadyCollective> const& ready_;
  std::unordered_map<uint32_t, Stream> streams_;  ///< by track
};

/// Charges waits from the last collective to the first: what one passes on, an earlier one takes.
class WaitAttribution::Charges {
 public:
  explicit Charges(WaitAttribution const& all) : all_(all), amounts_(all.collectives_.size()) {}

  void add_waits(Member const& member, std::vector<Interval> const& periods) {
    auto period = periods.begin();
    for (Participation const at : member.of) {
      auto const& participant = all_.participant(at);
      while (period != periods.end() && period->end <= participant.when.begin) ++period;
      if (period == periods.end()) return;
      if (participant.when.begin < period->begin || participant.wait_ns == 0) continue;
      int64_t const exposed = std::clamp<int64_t>(participant.exposed_late_ns, 0, participant.wait_ns);
      add(amounts_[at.collective], {participant.wait_ns - exposed, exposed});
    }
  }

  std::vector<WaitStats> run() {
    std::vector<uint32_t> order;
    for (uint32_t c = 0; c < amounts_.size(); ++c)
      if (all_.delays_[c].wait_ns > 0) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return release(a) > release(b); });
    for (uint32_t const collective : order) attribute_waits(collective);
    std::sort(rows_.begin(), rows_.end(), [](WaitStats const& a, WaitStats const& b) {
      auto const key = [](WaitStats const& row) {
        return std::tuple(-row.exposed_ns, -row.gpu_ns, row.ref, row.cause, row.idle);
      };
      return key(a) != key(b) ? key(a) < key(b) : a.host_op < b.host_op;
    });
    return std::move(rows_);
  }

 private:
  struct Amount {
    int64_t hidden = 0, exposed = 0;
  };
  static void add(Amount& to, Amount const& amount) {
    to.hidden = saturating_sum(to.hidden, amount.hidden);
    to.exposed = saturating_sum(to.exposed, amount.exposed);
  }

  /// When the late participant came.
  [[nodiscard]] int64_t release(uint32_t collective) const {
    return all_.collectives_[collective].participants[all_.delays_[collective].late].when.begin;
  }

  void attribute_waits(uint32_t collective) {
    Amount const amount = amounts_[collective];
    if (amount.hidden == 0 && amount.exposed == 0) return;
    Delay const& delay = all_.delays_[collective];
    DeviceRef const ref = all_.collectives_[collective].participants[delay.late].ref;
    constexpr float kAll = 0.999F;  // rounding
    auto const& differences = delay.is_level ? delay.more : delay.more_of_step;
    bool const is_compared = delay.is_late_known && delay.waiters_known > kAll;
    std::array<double, kActivityTimes + 1> more{};  // the last: what no difference explains
    double total = 0;
    for (size_t k = 0; k < kActivityTimes && is_compared; ++k)
      total += more[k] = std::max(0.0, static_cast<double>(differences[k]));
    more[kActivityTimes] = total > 0 ? unexplained(delay, total, release(collective)) : 1;
    std::array<int64_t, kActivityTimes + 1> hidden{}, exposed{};
    split_exactly(amount.hidden, more, hidden);
    split_exactly(amount.exposed, more, exposed);
    charge_to(ref, cause_of_rest(delay, is_compared), IdleCause::kUnexplained, 0,
              {hidden[kActivityTimes], exposed[kActivityTimes]});
    for (size_t k = 0; k < kActivityTimes; ++k) {
      Amount const part{hidden[k], exposed[k]};
      if (part.hidden == 0 && part.exposed == 0) continue;
      if (k < 3) {
        constexpr std::array kCauses = {WaitCause::kCompute, WaitCause::kCommunication, WaitCause::kCopy};
        charge_to(ref, kCauses[k], IdleCause::kUnexplained, 0, part);
        continue;
      }
      if (k == doing_of(IdleCause::kPeer) && pass_on(collective, part)) continue;
      charge_to(ref, WaitCause::kIdle, static_cast<IdleCause>(k - 3), delay.host[k - 3], part);
    }
  }

  /// Of the mean wait, what is more than all that the late one had more of.
  static double unexplained(Delay const& delay, double explained, int64_t released) {
    // Differences are kept as floats.
    double const rounding = 1e-6 * static_cast<double>(released - delay.since);
    double const rest = delay.mean_wait_ns - explained;
    return rest > std::max({kEndsAgreeNs, kEndsAgreeShare * delay.mean_wait_ns, rounding}) ? rest : 0;
  }

  /// Ranks that are compared from the begin of their steps on may have begun these at different times.
  static WaitCause cause_of_rest(Delay const& delay, bool is_compared) {
    if (!is_compared || delay.is_level || delay.mean_wait_ns <= kEndsAgreeNs) return WaitCause::kUnknown;
    return delay.is_first_step ? WaitCause::kBeforeRecording : WaitCause::kLateStart;
  }

  /// Gives the amount to those collectives in which the late participant had waited, in proportion to how long within the time
  /// that is compared; false where there are none.
  bool pass_on(uint32_t collective, Amount const& amount) {
    Delay const& delay = all_.delays_[collective];
    CollectiveStats const& facts = all_.collectives_[collective];
    Member const& member = *all_.find_member(facts.participants[delay.late].ref);
    int64_t const released = release(collective);
    earlier_.clear();
    weights_.clear();
    int over = 0;  // one after the other that had ended before: no earlier one reaches in then
    for (size_t i = 0; i < std::min<size_t>(delay.late_place, kMostEarlier) && over < kMostUnderWay; ++i) {
      Participation const at = member.of[delay.late_place - 1 - i];
      auto const& own = all_.participant(at);
      over = own.when.end <= delay.since ? over + 1 : 0;
      if (own.wait_ns == 0 || release(at.collective) >= released) continue;
      int64_t const waited = std::min(own.when.begin + own.wait_ns, released) - std::max(own.when.begin, delay.since);
      if (waited <= 0) continue;
      earlier_.push_back(at.collective);
      weights_.push_back(static_cast<double>(waited));
    }
    if (earlier_.empty()) return false;
    hidden_.assign(earlier_.size(), 0);
    exposed_.assign(earlier_.size(), 0);
    split_exactly(amount.hidden, weights_, hidden_);
    split_exactly(amount.exposed, weights_, exposed_);
    for (size_t i = 0; i < earlier_.size(); ++i) add(amounts_[earlier_[i]], {hidden_[i], exposed_[i]});
    return true;
  }

  void charge_to(DeviceRef ref, WaitCause cause, IdleCause idle, uint32_t host, Amount const& amount) {
    if (amount.hidden == 0 && amount.exposed == 0) return;
    auto const place = static_cast<uint64_t>(all_.find_member(ref) - all_.members_.data());
    uint64_t const what = static_cast<uint64_t>(cause) * kIdleCauseCount + static_cast<uint64_t>(idle);
    auto const [row, is_new] = places_.try_emplace((place << 40) | (what << 32) | host, rows_.size());
    if (is_new) rows_.push_back({ref, cause, idle, all_.names_[host], 0, 0, 0});
    WaitStats& to = rows_[row->second];
    to.gpu_ns = saturating_sum(to.gpu_ns, saturating_sum(amount.hidden, amount.exposed));
    to.exposed_ns = saturating_sum(to.exposed_ns, amount.exposed);
    ++to.collectives;
  }

  WaitAttribution const& all_;
  std::vector<Amount> amounts_;  ///< beside the collectives: still to be charged
  std::vector<WaitStats> rows_;
  std::unordered_map<uint64_t, size_t> places_;
  std::vector<uint32_t> earlier_;  // reused
  std::vector<double> weights_;
  std::vector<int64_t> hidden_, exposed_;
};

WaitAttribution::WaitAttribution(std::vector<CollectiveStats>& collectives)
    : collectives_(collectives), delays_(collectives.size()), place_(collectives.size()) {
  for (size_t c = 0; c < collectives.size(); ++c) {
    auto const& participants = collectives[c].participants;
    if (participants.size() < 2) continue;
    auto const late = std::min_element(participants.begin(), participants.end(),
                                       [](auto const& a, auto const& b) { return a.wait_ns < b.wait_ns; });
    delays_[c].late = static_cast<uint32_t>(late - participants.begin());
    double squares = 0;
    for (auto const& participant : participants) {
      auto const wait = static_cast<double>(participant.wait_ns);
      delays_[c].wait_ns = saturating_sum(delays_[c].wait_ns, participant.wait_ns);
      squares += wait * wait;
    }
    if (delays_[c].wait_ns > 0) delays_[c].mean_wait_ns = squares / static_cast<double>(delays_[c].wait_ns);
  }
  find_members();
  find_previous();
}

WaitAttribution::Member const* WaitAttribution::find_member(DeviceRef ref) const {
  auto const at = std::lower_bound(members_.begin(), members_.end(), ref, [](Member const& m, DeviceRef r) { return m.ref < r; });
  return at == members_.end() || at->ref != ref ? nullptr : &*at;
}

void WaitAttribution::find_members() {
  for (uint32_t c = 0; c < collectives_.size(); ++c) {
    auto const& participants = collectives_[c].participants;
    if (participants.size() < 2) continue;
    for (uint32_t i = 0; i < participants.size(); ++i) {
      auto at = std::lower_bound(members_.begin(), members_.end(), participants[i].ref,
                                 [](Member const& m, DeviceRef ref) { return m.ref < ref; });
      if (at == members_.end() || at->ref != participants[i].ref) at = members_.insert(at, {participants[i].ref, {}});
      at->of.push_back({c, i});
    }
  }
  tbb::parallel_for(size_t{0}, members_.size(), [&](size_t m) {
    Member& member = members_[m];
    std::stable_sort(member.of.begin(), member.of.end(), [&](Participation const& a, Participation const& b) {
      return participant(a).when.begin < participant(b).when.begin;
    });
    for (uint32_t place = 0; place < member.of.size(); ++place)
      if (Delay& delay = delays_[member.of[place].collective]; delay.late == member.of[place].participant)
        delay.late_place = place;
  });
}

void WaitAttribution::find_previous() {
  ParticipantGroups groups(collectives_);
  std::vector<uint32_t> last_of_group, before(collectives_.size(), kNone);
  for (uint32_t c = 0; c < collectives_.size(); ++c) {
    if (delays_[c].late == kNone) continue;
    uint32_t const group = groups.of(c);
    if (group >= last_of_group.size()) last_of_group.resize(group + 1, kNone);
    before[c] = std::exchange(last_of_group[group], c);
    auto const& late = collectives_[c].participants[delays_[c].late];
    uint32_t earlier = before[c];
    for (int i = 0; earlier != kNone && i < kMostUnderWay; ++i, earlier = before[earlier]) {
      auto const* const then = participant_of(collectives_[earlier], late.ref, delays_[c].late);
      if (then == nullptr || then->when.end > late.when.begin) continue;
      delays_[c].previous = earlier;
      break;
    }
  }
}

model::IntervalSet WaitAttribution::split_exposed_wait(DeviceRef ref, model::IntervalSet const& exposed_comm,
                                                       std::vector<ReadyCollective> const& ready) const {
  Member const* const member = find_member(ref);
  if (member == nullptr) return {};
  std::vector<int64_t> passed = {0};
  for (Interval const& interval : exposed_comm) passed.push_back(passed.back() + interval.length());
  auto near = exposed_comm.begin();  // where the last instant was: mostly the next one follows
  auto const until = [&](int64_t instant) {
    for (int i = 0; i < 4 && near != exposed_comm.end() && near->end <= instant; ++i) ++near;
    bool const is_here =
        (near == exposed_comm.end() || near->end > instant) && (near == exposed_comm.begin() || std::prev(near)->end <= instant);
    auto const is_before = [&](Interval const& i) { return i.end <= instant; };
    if (!is_here) near = std::partition_point(exposed_comm.begin(), exposed_comm.end(), is_before);
    auto const at = near;
    int64_t const whole = passed[static_cast<size_t>(at - exposed_comm.begin())];
    return at != exposed_comm.end() && at->begin < instant ? whole + (instant - at->begin) : whole;
  };
  std::vector<Interval> late;
  Lateness lateness(ready);
  for (Participation const at : member->of) {
    auto& own = participant(at);
    int64_t const until_end = until(own.when.end), exposed = until_end - until(own.when.begin);
    own.exposed_late_ns = std::min(own.wait_ns, exposed);
    own.exposed_transfer_ns = exposed - own.exposed_late_ns;
    int64_t const lost = std::min(lateness.of(own), exposed);
    if (lost == 0) continue;
    // The instant from which on so much is exposed.
    int64_t const before = until_end - lost;
    auto const place =
        std::partition_point(passed.begin(), passed.end(), [&](int64_t sum) { return sum <= before; }) - passed.begin() - 1;
    auto const i = static_cast<size_t>(place);
    late.push_back({exposed_comm[i].begin + (before - passed[i]), own.when.end});
  }
  return model::intersect(model::unite(std::move(late)), exposed_comm);
}

void WaitAttribution::add_device(DeviceRef ref, DeviceSets const& sets, std::vector<IdleGap> const& gaps,
                                 std::vector<StepStats> const& steps, model::Trace const& trace) {
  if (Member const* const member = find_member(ref)) Comparison(*this, *member, sets, gaps, steps, trace).run();
}

std::vector<WaitStats> WaitAttribution::attribute_waits(std::vector<MeasuredTime> const& measured) const {
  Charges charges(*this);
  for (MeasuredTime const& time : measured)
    if (Member const* const member = find_member(time.ref)) charges.add_waits(*member, time.periods);
  return charges.run();
}

void split_exactly(int64_t amount, std::span<double const> weights, std::span<int64_t> parts) {
  std::fill(parts.begin(), parts.end(), 0);
  if (amount == 0) return;
  double const total = std::accumulate(weights.begin(), weights.end(), 0.0);
  size_t largest = 0;
  int64_t left = amount;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > weights[largest]) largest = i;
    double const share = std::floor(static_cast<double>(amount) * (weights[i] / total));
    constexpr double kMost = 9e18;  // below 2^63
    parts[i] = std::min(left, static_cast<int64_t>(std::clamp(share, 0.0, kMost)));
    left -= parts[i];
  }
  // What rounding down left: one each to those that lost most by it, then, of amounts that a double cannot hold, the rest.
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto const lost = [&](size_t i) { return static_cast<double>(amount) * (weights[i] / total) - static_cast<double>(parts[i]); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lost(a) > lost(b); });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left) ++parts[order[i]];
  parts[largest] += left;
}

}  // namespace stepscope::analyzer
