#include "trace/synth/process/device_memory.h"

#include <algorithm>
#include <iterator>

namespace stepscope::synth {
namespace {

constexpr uint64_t kSmallestSegment = 256ULL << 20;
constexpr uint64_t kSegmentUnit = 2ULL << 20;  // what the driver gives
constexpr uint64_t kReservedStep = 512ULL
                                   << 20;  // without a cache: memory is taken in such portions

uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

uint64_t DeviceMemory::reserved() const {
  return caches_ ? segments_ : round_up(peak_, kReservedStep);
}

void DeviceMemory::add_allocated(uint64_t bytes) {
  allocated_ += bytes;
  peak_ = std::max(peak_, allocated_);
}

uint64_t DeviceMemory::allocate_of_driver(uint64_t bytes) {
  add_allocated(bytes);
  uint64_t const address = next_address_;
  if (!caches_) {
    next_address_ += bytes;
    return address;
  }
  uint64_t const size = round_up(bytes, kSegmentUnit);
  segments_ += size;
  next_address_ += size + kSegmentUnit;  // never beside another one: no block lies in two
  return address;
}

void DeviceMemory::free_to_driver(uint64_t /*address*/, uint64_t bytes) {
  allocated_ -= bytes;
  if (caches_) segments_ -= round_up(bytes, kSegmentUnit);
}

uint64_t DeviceMemory::allocate(uint64_t bytes, uint64_t behind) {
  if (!caches_) return allocate_of_driver(bytes);
  auto gap = gaps_.find(behind);
  if (gap == gaps_.end() || gap->second - gap->first < bytes) gap = smallest_gap_of(bytes);
  if (gap == gaps_.end()) {
    uint64_t const size = round_up(std::max(bytes, kSmallestSegment), kSegmentUnit);
    segments_ += size;
    gap = gaps_.emplace(next_address_, next_address_ + size).first;
    next_address_ += size + kSegmentUnit;
  }
  auto const [begin, end] = *gap;
  gaps_.erase(gap);
  if (begin + bytes < end) gaps_[begin + bytes] = end;
  add_allocated(bytes);
  return begin;
}

void DeviceMemory::free(uint64_t address, uint64_t bytes) {
  allocated_ -= bytes;
  if (caches_) put_gap(address, address + bytes);
}

DeviceMemory::Gaps::iterator DeviceMemory::smallest_gap_of(uint64_t bytes) {
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    uint64_t const size = gap->second - gap->first;
    if (size >= bytes && (best == gaps_.end() || size < best->second - best->first)) best = gap;
  }
  return best;
}

void DeviceMemory::put_gap(uint64_t begin, uint64_t end) {
  auto next = gaps_.lower_bound(begin);
  if (next != gaps_.end() && next->first == end) {
    end = next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
    return;
  }
  gaps_[begin] = end;
}

}  // namespace stepscope::synth
