// A point begins with a byte that says which purposes (bits 0 to 6) and whether the reserve (bit 7)
// changed. Differences follow as varints, all modulo 2^64: of time, of the allocated bytes, of the
// reserve, and of each changed purpose, less that of the allocated bytes.
#include "analyzer/results/memory_timeline.h"

namespace stepscope::analyzer {
namespace {

constexpr unsigned kReserveBit = 7;

/// 0, −1, 1, −2, … as 0, 1, 2, 3, …
constexpr uint64_t folded(uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr uint64_t unfolded(uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

}  // namespace

MemoryTimeline::MemoryTimeline(std::initializer_list<MemoryPoint> points)
    : MemoryTimeline(std::span<MemoryPoint const>(points.begin(), points.size())) {}

MemoryTimeline::MemoryTimeline(std::span<MemoryPoint const> points) {
  blocks_.reserve((points.size() + kBlock - 1) / kBlock);
  for (MemoryPoint const& point : points) push_back(point);
  bytes_.shrink_to_fit();
}

void MemoryTimeline::push_back(MemoryPoint const& point) {
  if (size_++ % kBlock == 0) {
    blocks_.push_back({point.time_ns, bytes_.size()});
    last_ = {};
  }

  unsigned changed = point.reserved_bytes != last_.reserved_bytes ? 1U << kReserveBit : 0U;
  for (unsigned purpose = 0; purpose < point.by_purpose.size(); ++purpose)
    if (point.by_purpose[purpose] != last_.by_purpose[purpose]) changed |= 1U << purpose;
  bytes_.push_back(static_cast<uint8_t>(changed));

  put(folded(static_cast<uint64_t>(point.time_ns) - static_cast<uint64_t>(last_.time_ns)));
  uint64_t const allocated = point.allocated_bytes - last_.allocated_bytes;
  put(folded(allocated));
  if ((changed >> kReserveBit & 1U) != 0) put(folded(point.reserved_bytes - last_.reserved_bytes));
  for (unsigned purpose = 0; purpose < point.by_purpose.size(); ++purpose)
    if ((changed >> purpose & 1U) != 0)
      put(folded(point.by_purpose[purpose] - last_.by_purpose[purpose] - allocated));
  last_ = point;
}

MemoryPoint MemoryTimeline::operator[](size_t place) const {
  size_t const first = place / kBlock * kBlock;
  Iterator at(this, first);
  for (size_t i = first; i < place; ++i) ++at;
  return *at;
}

std::vector<MemoryPoint> MemoryTimeline::points() const {
  std::vector<MemoryPoint> points;
  points.reserve(size_);
  for (MemoryPoint const point : *this) points.push_back(point);
  return points;
}

MemoryTimeline::Iterator::Iterator(MemoryTimeline const* timeline, size_t place)
    : timeline_(timeline), place_(place) {
  if (place_ >= timeline_->size_) return;
  offset_ = timeline_->blocks_[place_ / kBlock].offset;
  timeline_->read(place_, offset_, point_);
}

void MemoryTimeline::put(uint64_t number) {
  for (; number >= 0x80U; number >>= 7U) bytes_.push_back(static_cast<uint8_t>(number | 0x80U));
  bytes_.push_back(static_cast<uint8_t>(number));
}

uint64_t MemoryTimeline::get(size_t& offset) const {
  uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint8_t const byte = bytes_[offset++];
    number |= uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return number;
  }
}

void MemoryTimeline::read(size_t place, size_t& offset, MemoryPoint& point) const {
  if (place % kBlock == 0) point = {};

  unsigned const changed = bytes_[offset++];
  point.time_ns =
      static_cast<int64_t>(static_cast<uint64_t>(point.time_ns) + unfolded(get(offset)));

  uint64_t const allocated = unfolded(get(offset));
  point.allocated_bytes += allocated;
  if ((changed >> kReserveBit & 1U) != 0) point.reserved_bytes += unfolded(get(offset));
  for (unsigned purpose = 0; purpose < point.by_purpose.size(); ++purpose)
    if ((changed >> purpose & 1U) != 0)
      point.by_purpose[purpose] += unfolded(get(offset)) + allocated;
}

}  // namespace stepscope::analyzer
