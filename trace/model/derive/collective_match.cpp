#include "trace/model/derive/collective_match.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "trace/base/huge_pages.h"
#include "trace/model/trace.h"

namespace stepscope::model {
namespace {

/// What the participants of a collective agree in, all but how often the same came before.
using MatchKey = std::array<uint64_t, 4>;

struct HashOfKey {
  size_t operator()(MatchKey const& key) const {
    uint64_t hash = 0x9E3779B97F4A7C15U;
    for (uint64_t const part : key) {
      hash = (hash ^ part) * 0xFF51AFD7ED558CCDU;
      hash ^= hash >> 32U;
    }
    return static_cast<size_t>(hash);
  }
};

enum class Numbering : uint8_t { kSequence, kOrder, kOrderOfPair };

/// A device's collectives of one kind, in their order.
struct Series {
  uint32_t device = 0;
  std::vector<int64_t> ends;
  int64_t shift = 0;  ///< the place of the first in the order of all
  bool is_unsure = false;
};

/// How two series overlap when the second is moved by a number of places. The first is at least as
/// long.
class Comparison {
 public:
  Comparison(Series const& reference, Series const& other) : other_(other) {
    for (size_t i = 0; i < reference.ends.size(); ++i)
      by_end_.emplace_back(reference.ends[i], static_cast<int64_t>(i));
    reference_ = reference.ends;
    std::sort(by_end_.begin(), by_end_.end());
  }
  /// Between the ends of the reference, which has two at least.
  [[nodiscard]] int64_t period() const {
    std::vector<int64_t> gaps;
    for (size_t i = 1; i < by_end_.size(); ++i)
      gaps.push_back(by_end_[i].first - by_end_[i - 1].first);
    return median(gaps);
  }
  /// The shift with which the other's ends lie nearest to the reference's.
  [[nodiscard]] int64_t best_shift() const {
    std::vector<int64_t> shifts;
    for_samples([&](size_t place, int64_t end) {
      shifts.push_back(nearest(end) - static_cast<int64_t>(place));
    });
    return median(shifts);
  }
  /// Median time between the ends of the pairs that this shift makes. The largest number when less
  /// than half of the other's samples have a partner.
  [[nodiscard]] int64_t distance(int64_t shift) const {
    std::vector<int64_t> distances;
    size_t looked_at = 0;

    for_samples([&](size_t place, int64_t end) {
      ++looked_at;
      int64_t const there = static_cast<int64_t>(place) + shift;
      if (there >= 0 && there < static_cast<int64_t>(reference_.size()))
        distances.push_back(std::abs(reference_[static_cast<size_t>(there)] - end));
    });

    return 2 * distances.size() < looked_at ? std::numeric_limits<int64_t>::max()
                                            : median(distances);
  }

 private:
  template <class Visit>
  void for_samples(Visit&& visit) const {
    constexpr size_t kSamples = 63;
    size_t const count = std::min(kSamples, other_.ends.size());
    for (size_t i = 0; i < count; ++i) {
      size_t const place = i * other_.ends.size() / count;
      visit(place, other_.ends[place]);
    }
  }
  [[nodiscard]] int64_t nearest(int64_t end) const {
    auto const behind = std::lower_bound(by_end_.begin(), by_end_.end(), std::pair(end, INT64_MIN));
    if (behind == by_end_.begin()) return behind->second;
    auto const before = std::prev(behind);
    return behind == by_end_.end() || end - before->first <= behind->first - end ? before->second
                                                                                 : behind->second;
  }
  static int64_t median(std::vector<int64_t>& values) {
    if (values.empty()) return std::numeric_limits<int64_t>::max();
    auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  Series const& other_;
  std::vector<int64_t> reference_;
  std::vector<std::pair<int64_t, int64_t>> by_end_;  ///< (end, place)
};

/// Between steps that both devices number, by how many places the other's first collective lies
/// behind the reference's.
std::optional<int64_t> shift_of_steps(Series const& reference, DeviceRecording const& of_reference,
                                      Series const& other, DeviceRecording const& of_other) {
  auto const count = static_cast<int64_t>(reference.ends.size()),
             other_count = static_cast<int64_t>(other.ends.size());

  if (of_reference.steps <= 0 || of_other.steps <= 0 || count % of_reference.steps != 0 ||
      other_count % of_other.steps != 0)
    return std::nullopt;
  int64_t const each = count / of_reference.steps;
  if (each != other_count / of_other.steps) return std::nullopt;

  int64_t steps_later = 0, places = 0;
  if (__builtin_sub_overflow(of_other.first_step, of_reference.first_step, &steps_later) ||
      __builtin_mul_overflow(steps_later, each, &places))
    places = of_other.first_step > of_reference.first_step ? count : -other_count;

  return std::clamp(
      places, -other_count,
      count);  // beside each other is far enough for those that have nothing in common
}

/// Sets the other's shift, from the steps if they are known. Else from times, where one clock
/// recorded both. Clocks of different hosts are believed only where the order cannot be right, and
/// only when they agree well: any two lie within half a period.
void place(Series const& reference, Series& other, std::span<DeviceRecording const> recordings) {
  DeviceRecording const nothing;
  bool const is_known = reference.device < recordings.size() && other.device < recordings.size();
  DeviceRecording const& of_reference = is_known ? recordings[reference.device] : nothing;
  DeviceRecording const& of_other = is_known ? recordings[other.device] : nothing;
  bool const as_many = reference.ends.size() == other.ends.size();

  if (!is_known || reference.ends.size() < 2) return;
  if (auto const shift = shift_of_steps(reference, of_reference, other, of_other)) {
    other.shift = *shift;
    return;
  }

  bool const is_one_clock = of_reference.clock == of_other.clock;
  if (as_many && !is_one_clock) return;

  Comparison const comparison(reference, other);
  constexpr int64_t kOfOneClock = 4, kOfSeveral = 16, kMuchBetter = 4;
  int64_t const near = comparison.period() / (is_one_clock ? kOfOneClock : kOfSeveral);

  int64_t const best = comparison.best_shift(), at_best = comparison.distance(best),
                unmoved = comparison.distance(0);

  if (at_best <= near && at_best < unmoved / kMuchBetter)
    other.shift = best;
  else
    other.is_unsure = !as_many && unmoved > near;
}

/// All collectives of a kind: the same number, or the same op and bytes of a communicator.
struct SameKind {
  static constexpr uint32_t kNone = UINT32_MAX;
  MatchKey key{};
  bool is_numbered = false;
  bool was_seen = false;
  uint32_t device = 0;        ///< the last one that had it, once it was seen
  uint32_t on_device = 0;     ///< how often that had it so far
  uint32_t follower = kNone;  ///< the kind that came after it last
  uint32_t first = kNone;     ///< the collective at place 0
  uint32_t others = kNone;    ///< where those at further places are
  uint32_t series = kNone;    ///< where those are that have no number
};

/// Moves the series of a kind so that their places are those of the collectives.
void place_all(std::vector<Series>& series, std::span<DeviceRecording const> recordings) {
  if (series.size() < 2) return;

  auto const longest = std::max_element(
      series.begin(), series.end(),
      [](Series const& a, Series const& b) { return a.ends.size() < b.ends.size(); });

  int64_t first = 0;
  for (Series& each : series) {
    if (&each != &*longest) place(*longest, each, recordings);
    first = std::min(first, each.shift);
  }

  for (Series& each : series) each.shift -= first;
}

/// A set of few numbers that are asked for again and again in a row.
class FewNumbers {
 public:
  void insert(uint64_t number) {
    if (number == last_ && is_last_in_) return;
    all_.insert(number);
    last_ = number;
    is_last_in_ = true;
  }
  [[nodiscard]] bool contains(uint64_t number) {
    if (number != last_) {
      is_last_in_ = all_.contains(number);
      last_ = number;
    }
    return is_last_in_;
  }

 private:
  std::set<uint64_t> all_;
  uint64_t last_ = 0;
  bool is_last_in_ = false;
};

/// `Collectives`: calls visit(device, identity, end) for each.
template <class Collectives>
class Matcher {
 public:
  explicit Matcher(Collectives const& collectives) : collectives_(collectives) {
    std::optional<uint32_t> last;
    collectives_.for_each([&](uint32_t device, CollectiveIdentity const& identity, int64_t) {
      if (identity.communicator != 0 && identity.sequence != 0)
        with_sequence_.insert(identity.communicator);
      devices_ += device != last ? 1 : 0;
      last = device;
    });
  }

  std::vector<CollectiveMatch> match(std::span<DeviceRecording const> recordings) {
    std::vector<Entry> const entries = sort_by_kind(recordings);
    for (auto& series : series_) place_all(series, recordings);
    std::vector<CollectiveMatch> matches;
    base::reserve_long(matches, entries.size());
    for (Entry const& entry : entries) matches.push_back(number(entry));
    return matches;
  }

 private:
  static constexpr uint32_t kAlone = UINT32_MAX, kMostWindow = (1U << 20U) - 1;
  struct Entry {
    uint32_t kind = kAlone;
    uint32_t series = 0;
    uint32_t place = 0;  ///< on its device
  };

  std::vector<Entry> sort_by_kind(std::span<DeviceRecording const> recordings) {
    std::vector<Entry> entries;

    base::reserve_long(entries, collectives_.size());
    collectives_.for_each([&](uint32_t device, CollectiveIdentity const& identity, int64_t end_ns) {
      auto const key = key_of(identity, device < recordings.size() ? recordings[device].window : 0);
      if (!key) {
        entries.emplace_back();
        return;
      }

      uint32_t const number = find_kind(*key);
      SameKind& kind = kinds_[number];
      bool const is_new_device = !kind.was_seen || kind.device != device;
      if (is_new_device) {
        kind.was_seen = true;
        kind.device = device;
        kind.on_device = 0;
      }

      uint32_t at = 0;
      if (!kind.is_numbered) {
        auto& series = series_[kind.series];
        if (is_new_device) series.push_back({.device = device});
        series.back().ends.push_back(std::clamp(end_ns, -kMaxTime, kMaxTime));
        at = static_cast<uint32_t>(series.size() - 1);
      }

      entries.push_back({number, at, kind.on_device++});
    });
    return entries;
  }

  /// Most devices have the same kinds in the same order: the one that followed the last one is
  /// looked at first.
  uint32_t find_kind(MatchKey const& key) {
    uint32_t const expected =
        last_kind_ == SameKind::kNone ? SameKind::kNone : kinds_[last_kind_].follower;
    if (expected != SameKind::kNone && kinds_[expected].key == key) return last_kind_ = expected;

    auto const [known, is_new] = kind_of_.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
    if (is_new) {
      SameKind& kind = kinds_.emplace_back();
      kind.key = key;
      kind.is_numbered = key[1] >> 56U == static_cast<uint64_t>(Numbering::kSequence);
      if (!kind.is_numbered) {
        kind.series = static_cast<uint32_t>(series_.size());
        series_.emplace_back();
      }
    }

    if (last_kind_ != SameKind::kNone) kinds_[last_kind_].follower = known->second;
    return last_kind_ = known->second;
  }

  CollectiveMatch number(Entry const& entry) {
    if (entry.kind == kAlone) return {0, next_++};
    SameKind& kind = kinds_[entry.kind];

    uint64_t place = entry.place;
    if (!kind.is_numbered) {
      Series const& series = series_[kind.series][entry.series];
      if (series.is_unsure) return {place, next_++, true};
      place += static_cast<uint64_t>(series.shift);
    }

    uint32_t& collective = collective_at(kind, place);
    if (collective == SameKind::kNone) collective = next_++;
    return {kind.is_numbered ? kind.key[2] : place, collective};
  }
  uint32_t& collective_at(SameKind& kind, uint64_t place) {
    if (place == 0) return kind.first;
    if (kind.others == SameKind::kNone) {
      kind.others = static_cast<uint32_t>(others_.size());
      others_.emplace_back();
    }
    std::vector<uint32_t>& others = others_[kind.others];
    if (place > others.size()) others.resize(place, SameKind::kNone);
    return others[place - 1];
  }

  /// Nothing: cannot be matched.
  [[nodiscard]] std::optional<MatchKey> key_of(CollectiveIdentity const& identity,
                                               uint32_t window) {
    auto const tag = [&](Numbering numbering, CollectiveOp op) {
      uint64_t const of_window =
          numbering == Numbering::kSequence ? 0 : uint64_t{window & kMostWindow} << 32U;
      return static_cast<uint64_t>(numbering) << 56U | of_window | static_cast<uint64_t>(op);
    };

    if (identity.is_known_by_name) return std::nullopt;
    bool const has_sequence = with_sequence_.contains(identity.communicator);
    bool const is_pair = is_point_to_point(identity.op);
    // A communicator's first collective may have the number 0.
    if (has_sequence && (identity.sequence != 0 || !is_pair))
      return MatchKey{identity.communicator, tag(Numbering::kSequence, CollectiveOp::kUnknown),
                      identity.sequence, 0};

    if (is_pair) {
      if (identity.rank < 0 || identity.peer < 0) return std::nullopt;
      bool const sends = identity.op == CollectiveOp::kSend;
      auto const from = static_cast<uint64_t>(sends ? identity.rank : identity.peer);
      auto const to = static_cast<uint64_t>(sends ? identity.peer : identity.rank);
      return MatchKey{identity.communicator, tag(Numbering::kOrderOfPair, CollectiveOp::kSend),
                      from << 32U | to, identity.bytes};
    }

    if (identity.communicator == 0 && identity.participants != 0 &&
        identity.participants < devices_)
      return std::nullopt;
    return MatchKey{identity.communicator, tag(Numbering::kOrder, identity.op), 0, identity.bytes};
  }

  Collectives const& collectives_;
  FewNumbers with_sequence_;  ///< communicators whose collectives have one
  uint32_t devices_ = 0;
  uint32_t next_ = 0;
  uint32_t last_kind_ = SameKind::kNone;
  std::unordered_map<MatchKey, uint32_t, HashOfKey> kind_of_;
  std::vector<SameKind> kinds_;
  std::vector<std::vector<Series>> series_;    ///< of the kinds without numbers
  std::vector<std::vector<uint32_t>> others_;  ///< collectives by place, from place 1 on
};

struct InOneList {
  std::span<DeviceCollective const> all;
  [[nodiscard]] size_t size() const { return all.size(); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (DeviceCollective const& each : all)
      visit(each.device, identity_of(*each.detail), each.end_ns);
  }
};

struct ByDevice {
  std::span<std::vector<RecordedCollective> const> devices;
  [[nodiscard]] size_t size() const {
    size_t size = 0;
    for (auto const& device : devices) size += device.size();
    return size;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t device = 0; device < devices.size(); ++device)
      for (RecordedCollective const& each : devices[device])
        visit(device, each.identity, each.end_ns);
  }
};

}  // namespace

void DeviceRecording::set_steps(std::vector<int64_t> indices) {
  std::sort(indices.begin(), indices.end());
  steps = std::distance(indices.begin(), std::unique(indices.begin(), indices.end()));
  first_step = indices.empty() ? 0 : indices.front();
}

void set_windows(std::span<DeviceRecording> recordings, std::span<RecordedSpan const> spans) {
  std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> of_devices;
  for (size_t d = 0; d < spans.size(); ++d)
    of_devices[{spans[d].rank, spans[d].device}].push_back(d);
  size_t const windows = of_devices.empty() ? 0 : of_devices.begin()->second.size();
  bool has_several = false, are_as_many = true;

  for (auto& [device, own] : of_devices) {
    std::sort(own.begin(), own.end(),
              [&](size_t a, size_t b) { return spans[a].when.begin < spans[b].when.begin; });
    has_several = has_several || own.size() > 1;
    are_as_many = are_as_many && own.size() == windows;

    // Two at once are two recordings of one window.
    for (size_t i = 1; i < own.size(); ++i)
      if (spans[own[i]].when.begin <= spans[own[i - 1]].when.end) return;
  }
  if (!has_several) return;

  if (are_as_many) {
    for (auto const& [device, own] : of_devices)
      for (uint32_t w = 0; w < own.size(); ++w) recordings[own[w]].window = w;
    return;
  }

  std::vector<size_t> by_time(spans.size());
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::sort(by_time.begin(), by_time.end(),
            [&](size_t a, size_t b) { return spans[a].when.begin < spans[b].when.begin; });

  uint32_t window = 0;
  int64_t end = INT64_MAX;

  for (size_t const d : by_time) {
    if (end != INT64_MAX && spans[d].when.begin > end) ++window;
    end = end == INT64_MAX ? spans[d].when.end : std::max(end, spans[d].when.end);
    recordings[d].window = window;
  }
}

CollectiveIdentity identity_of(CollectiveDetail const& detail) {
  return {detail.bytes, detail.communicator, detail.sequence, detail.participants,
          detail.rank,  detail.peer,         detail.op,       is_known_by_name(detail)};
}

std::vector<CollectiveMatch> match_collectives(std::span<DeviceCollective const> collectives,
                                               std::span<DeviceRecording const> recordings) {
  InOneList const list{collectives};
  return Matcher(list).match(recordings);
}

std::vector<CollectiveMatch> match_collectives(
    std::span<std::vector<RecordedCollective> const> devices,
    std::span<DeviceRecording const> recordings) {
  ByDevice const list{devices};
  return Matcher(list).match(recordings);
}

}  // namespace stepscope::model
