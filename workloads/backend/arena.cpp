// Best-fit caching arena of a device; see arena.h.
#include "workloads/backend/arena.h"

#include <algorithm>
#include <vector>

#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::workloads {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kNamedOwners = 4;  // an error message is read by a person

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Arena::~Arena() {
  for (auto const& [address, bytes] : segments_)
    system_->give_back(reinterpret_cast<void*>(address), bytes);
}

bool Arena::grow(uint64_t bytes) {
  if (round_up(bytes, kPage) > capacity_ - reserved_) return false;
  uint64_t const size =
      std::min(round_up(bytes, kSegmentUnit), (capacity_ - reserved_) / kPage * kPage);

  void* const data = system_->reserve(size);
  refused_ = data == nullptr;
  if (refused_) return false;

  auto const address = reinterpret_cast<Address>(data);
  segments_.emplace(address, size);
  reserved_ += size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  free_blocks_.emplace(address, size);
  free_by_size_.emplace(size, address);
  return true;
}

void Arena::drop_free_segments() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    auto const block = free_blocks_.find(segment->first);
    if (block == free_blocks_.end() || block->second != segment->second) {
      ++segment;
      continue;
    }

    system_->give_back(reinterpret_cast<void*>(segment->first), segment->second);
    reserved_ -= segment->second;
    free_by_size_.erase({block->second, block->first});
    free_blocks_.erase(block);
    segment = segments_.erase(segment);
  }
}

base::Expected<Arena::Block> Arena::allocate(size_t bytes, api::MemoryPurpose purpose,
                                             std::string_view owner) {
  std::lock_guard const lock(mutex_);
  uint64_t const size = aligned(std::max<uint64_t>(bytes, 1));

  auto fit = free_by_size_.lower_bound({size, 0});
  if (fit == free_by_size_.end()) {
    if (!grow(size)) {
      drop_free_segments();
      if (!grow(size)) return tl::unexpected<base::Error>(base::Error{out_of_memory(size, owner)});
    }
    fit = free_by_size_.lower_bound({size, 0});
  }

  auto const [free_size, address] = *fit;
  free_by_size_.erase(fit);
  free_blocks_.erase(address);
  if (free_size > size) {
    free_blocks_.emplace(address + size, free_size - size);
    free_by_size_.emplace(free_size - size, address + size);
  }

  allocated_ += size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);

  Block const block{reinterpret_cast<void*>(address), size, purpose, std::string(owner)};
  live_.emplace(address, block);
  return block;
}

void Arena::insert_free(Address address, uint64_t bytes) {
  // Neighbours are joined inside a segment only: two segments may touch, but are returned to the
  // system apart.

  auto const next = free_blocks_.lower_bound(address);
  if (next != free_blocks_.end() && next->first == address + bytes &&
      !segments_.contains(next->first)) {
    bytes += next->second;
    free_by_size_.erase({next->second, next->first});
    free_blocks_.erase(next);
  }

  auto const after = free_blocks_.lower_bound(address);
  if (after != free_blocks_.begin() && !segments_.contains(address)) {
    auto const before = std::prev(after);
    if (before->first + before->second == address) {
      free_by_size_.erase({before->second, before->first});
      before->second += bytes;
      free_by_size_.emplace(before->second, before->first);
      return;
    }
  }

  free_blocks_.emplace(address, bytes);
  free_by_size_.emplace(bytes, address);
}

Arena::Block Arena::release(void* data) {
  std::lock_guard const lock(mutex_);
  auto const live = live_.find(reinterpret_cast<Address>(data));
  STEPSCOPE_CHECK(live != live_.end());
  Block block = std::move(live->second);
  live_.erase(live);
  allocated_ -= block.bytes;
  insert_free(reinterpret_cast<Address>(data), block.bytes);
  return block;
}

base::Expected<void> Arena::reserve_all() {
  std::lock_guard const lock(mutex_);
  if (grow((capacity_ - reserved_) / kPage * kPage)) return {};
  return base::fail("{}: the system has not {} at once, lower --memory-limit or let memory grow",
                    device_name_, base::format_bytes(capacity_));
}

void Arena::give_back() {
  std::lock_guard const lock(mutex_);
  drop_free_segments();
}

MemoryUse Arena::use() const {
  std::lock_guard const lock(mutex_);
  return {capacity_, allocated_, reserved_, peak_allocated_, peak_reserved_};
}

std::string Arena::out_of_memory(uint64_t bytes, std::string_view owner) const {
  std::map<std::string, uint64_t> held;
  for (auto const& [address, block] : live_) held[block.owner] += block.bytes;

  std::vector<std::pair<uint64_t, std::string>> owners;
  for (auto const& [name, size] : held) owners.emplace_back(size, name);
  std::sort(owners.rbegin(), owners.rend());

  std::string holders;
  for (size_t i = 0; i < std::min(owners.size(), kNamedOwners); ++i) {
    holders += fmt::format("{}{} {}", i == 0 ? "" : ", ", owners[i].second,
                           base::format_bytes(owners[i].first));
  }

  uint64_t const unreserved = refused_ ? 0 : capacity_ - reserved_;
  uint64_t const largest =
      std::max(free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first, unreserved);

  return fmt::format(
      "{}: out of memory: {} asked for {}, {} of {} are free (largest block {}{}); most is held by "
      "{}; lower --batch or raise --memory-limit",
      device_name_, owner, base::format_bytes(bytes), base::format_bytes(capacity_ - allocated_),
      base::format_bytes(capacity_), base::format_bytes(largest),
      refused_ ? ", the system has no more" : "", holders.empty() ? "nobody" : holders);
}

}  // namespace stepscope::workloads
