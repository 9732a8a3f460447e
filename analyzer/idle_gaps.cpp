#include "analyzer/idle_gaps.h"

#include <algorithm>

namespace stepscope::analyzer {

DeviceGaps::DeviceGaps(DeviceRef ref, std::span<IdleGap const> gaps, bool with_rows) : ref_(ref) {
  begins_.resize(gaps.size());
  lengths_.resize(gaps.size());
  hosts_.resize(gaps.size());
  host_names_.resize(gaps.size());
  for (size_t place = 0; place < gaps.size(); ++place) {
    IdleGap const& gap = gaps[place];
    int64_t const length = gap.when.length();
    bool const is_short = 0 <= length && length < int64_t{kLong};
    if (!is_short) long_lengths_.emplace_back(place, length);
    begins_[place] = gap.when.begin;
    lengths_[place] = is_short ? static_cast<uint32_t>(length) : kLong;
    uint32_t const track = std::min(gap.host_track.value, kNoTrack);
    hosts_[place] = {static_cast<uint32_t>(gap.cause) & 15U, gap.host_is_apart ? 1U : 0U, track & kNoTrack};
    host_names_[place] = gap.host_name;
  }
  if (!with_rows) return;
  host_rows_.reserve(gaps.size());
  next_op_rows_.reserve(gaps.size());
  for (IdleGap const& gap : gaps) {
    host_rows_.push_back(gap.host_row);
    next_op_rows_.push_back(gap.next_op_row);
  }
}

IdleGap DeviceGaps::operator[](size_t place) const {
  IdleGap gap;
  gap.ref = ref_;
  gap.when = when(place);
  Host const host = hosts_[place];
  gap.cause = static_cast<IdleCause>(host.cause);
  gap.host_is_apart = host.is_apart != 0;
  if (host.track != kNoTrack) gap.host_track = model::TrackId{host.track};
  gap.host_name = host_names_[place];
  if (!host_rows_.empty()) gap.host_row = host_rows_[place];
  if (!next_op_rows_.empty()) gap.next_op_row = next_op_rows_[place];
  return gap;
}

size_t DeviceGaps::first_after(int64_t instant) const {
  // They are disjoint: only the last that begins by then may end after it.
  auto const later = std::upper_bound(begins_.begin(), begins_.end(), instant);
  auto const place = static_cast<size_t>(later - begins_.begin());
  return place > 0 && when(place - 1).end > instant ? place - 1 : place;
}

int64_t DeviceGaps::long_length(size_t place) const {
  return std::partition_point(long_lengths_.begin(), long_lengths_.end(), [&](auto const& of) { return of.first < place; })
      ->second;
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
  auto const device = std::partition_point(devices_.begin(), devices_.end(), [&](DeviceGaps const& d) { return d.ref() < ref; });
  return device == devices_.end() || device->ref() != ref ? nullptr : &*device;
}

size_t IdleGaps::first_of(DeviceRef ref) const { return firsts_[static_cast<size_t>(of(ref) - devices_.data())]; }

}  // namespace stepscope::analyzer
