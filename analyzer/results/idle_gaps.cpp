#include "analyzer/results/idle_gaps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace stepscope::analyzer {

/// Numbers reasons as they come. Nearly always it is one of the last that came: looked up without a
/// search.
class DeviceGaps::ReasonNumbers {
 public:
  explicit ReasonNumbers(std::vector<Reason>& reasons) : reasons_(reasons), last_(kPlaces) {}

  size_t number(Reason const& reason) {
    uint64_t const flags =
        uint64_t{reason.is_staging} << 8U ^ static_cast<uint64_t>(reason.why_not) << 6U ^
        uint64_t { reason.is_way_from_sync } << 5U ^ uint64_t { reason.host_is_apart } << 4U ^
        static_cast<uint64_t>(reason.cause);
    uint64_t const key = uint64_t{reason.host_name.value} << 32U ^
                         uint64_t { reason.next_op_name.value } << 20U ^
                         uint64_t { reason.caller.value } << 14U ^
                         uint64_t { reason.host_track.value } << 8U ^ flags;

    constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: spreads neighbours
    uint32_t& last = last_[key * kSpread >> (64U - kBits)];
    if (last < reasons_.size() && reasons_[last] == reason) return last;

    auto const [found, is_new] =
        numbers_.try_emplace({reason.host_name.value, reason.next_op_name.value,
                              reason.host_track.value, reason.caller.value, flags},
                             reasons_.size());
    if (is_new) reasons_.push_back(reason);
    last = static_cast<uint32_t>(found->second);
    return found->second;
  }

 private:
  static constexpr unsigned kBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kBits;
  std::vector<Reason>& reasons_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint64_t>, size_t> numbers_;
  std::vector<uint32_t> last_;  ///< number by hash
};

DeviceGaps::DeviceGaps(DeviceRef ref, std::span<IdleGap const> gaps, bool with_rows) : ref_(ref) {
  block_begins_.reserve((gaps.size() + kBlock - 1) / kBlock);
  begins_.reserve(gaps.size());
  reason_of_.reserve(gaps.size());

  ReasonNumbers numbers(reasons_);
  for (size_t place = 0; place < gaps.size(); ++place) {
    IdleGap const& gap = gaps[place];
    if (place % kBlock == 0) block_begins_.push_back(gap.when.begin);
    begins_.push_back(gap.when.begin - block_begins_.back());
    reason_of_.push_back(static_cast<int64_t>(numbers.number(
        {gap.cause, gap.host_is_apart, gap.host_name, gap.next_op_name, gap.host_track, gap.caller,
         gap.is_way_from_sync, gap.is_staging, gap.why_not})));
  }

  keep_lengths(gaps);
  if (!with_rows) return;
  host_rows_.reserve(gaps.size());
  next_op_rows_.reserve(gaps.size());
  for (IdleGap const& gap : gaps) {
    host_rows_.push_back(gap.host_row);
    next_op_rows_.push_back(gap.next_op_row);
  }
}

void DeviceGaps::keep_lengths(std::span<IdleGap const> gaps) {
  // A length of two bytes saves two, and takes sixteen more where it does not fit.
  auto const is_long = [](IdleGap const& gap) {
    return gap.when.length() >= std::numeric_limits<uint16_t>::max();
  };
  auto const long_ones = static_cast<size_t>(std::count_if(gaps.begin(), gaps.end(), is_long));
  auto const keep = [&](auto& lengths) {
    lengths.reserve(gaps.size());
    for (IdleGap const& gap : gaps) lengths.push_back(gap.when.length());
  };

  if (long_ones * 8 < gaps.size())
    keep(short_lengths_);
  else
    keep(lengths_);
}

IdleGap DeviceGaps::operator[](size_t place) const {
  IdleGap gap;
  gap.ref = ref_;
  gap.when = when(place);

  Reason const& why = reason(place);
  gap.cause = why.cause;
  gap.host_is_apart = why.host_is_apart;
  gap.host_name = why.host_name;
  gap.next_op_name = why.next_op_name;
  gap.host_track = why.host_track;
  gap.caller = why.caller;
  gap.is_way_from_sync = why.is_way_from_sync;
  gap.is_staging = why.is_staging;
  gap.why_not = why.why_not;

  if (!host_rows_.empty()) gap.host_row = host_rows_[place];
  if (!next_op_rows_.empty()) gap.next_op_row = next_op_rows_[place];
  return gap;
}

IdleSplit DeviceGaps::idle_of(size_t first, size_t behind) const {
  IdleSplit idle{};
  for (size_t place = first; place < behind; ++place)
    idle[static_cast<size_t>(cause(place))] += length_of(place);
  return idle;
}

size_t DeviceGaps::block_after(int64_t instant, size_t near) const {
  constexpr size_t kFewBlocks = 16;
  size_t block = near / kBlock;
  if (block < block_begins_.size() && block_begins_[block] <= instant)
    for (size_t const last = std::min(block + kFewBlocks, block_begins_.size()); block < last;
         ++block)
      if (block_begins_[block] > instant) return block;
  return static_cast<size_t>(std::upper_bound(block_begins_.begin(), block_begins_.end(), instant) -
                             block_begins_.begin());
}

size_t DeviceGaps::exponential_search(int64_t instant, size_t near) const {
  // Gaps are disjoint: only the last that begins by the instant may end after it.
  size_t const block = block_after(instant, near);
  if (block == 0) return 0;

  size_t place = (block - 1) * kBlock;
  for (size_t count = std::min(kBlock, size() - place); count > 0;) {
    size_t const half = count / 2;
    if (begin_of(place + half) > instant) {
      count = half;
    } else {
      place += half + 1;
      count -= half + 1;
    }
  }
  return when(place - 1).end > instant ? place - 1 : place;
}

IdleGaps::IdleGaps(std::span<IdleGap const> gaps) {
  for (size_t first = 0, last = 0; first < gaps.size(); first = last) {
    while (last < gaps.size() && gaps[last].ref == gaps[first].ref) ++last;
    append(DeviceGaps(gaps[first].ref, gaps.subspan(first, last - first)));
  }
}

void IdleGaps::append(DeviceGaps gaps) {
  if (gaps.size() == 0) return;
  firsts_.push_back(size());
  devices_.push_back(std::move(gaps));
}

void IdleGaps::append(IdleGaps&& gaps) {
  for (DeviceGaps& of_device : gaps.devices_) append(std::move(of_device));
}

IdleGap IdleGaps::operator[](size_t place) const {
  auto const after = std::upper_bound(firsts_.begin(), firsts_.end(), place);
  auto const device = static_cast<size_t>(after - firsts_.begin()) - 1;
  return devices_[device][place - firsts_[device]];
}

DeviceGaps const* IdleGaps::of(DeviceRef ref) const {
  auto const device = std::partition_point(devices_.begin(), devices_.end(),
                                           [&](DeviceGaps const& d) { return d.ref() < ref; });
  return device == devices_.end() || device->ref() != ref ? nullptr : &*device;
}

size_t IdleGaps::first_of(DeviceRef ref) const {
  return firsts_[static_cast<size_t>(of(ref) - devices_.data())];
}

}  // namespace stepscope::analyzer
