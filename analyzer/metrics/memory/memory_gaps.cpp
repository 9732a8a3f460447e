#include "analyzer/metrics/memory/memory_gaps.h"

#include <iterator>

namespace stepscope::analyzer {

bool MemoryGaps::begin(Block block, Totals totals) {
  if (state_ == State::kKnown) return true;
  if (state_ != State::kNothingSeen) return false;
  // The very first block of the allocator, or there is more than was recorded.
  bool const is_first =
      block.bytes > 0 && totals.allocated == block.bytes && totals.reserved >= block.bytes;
  state_ = is_first ? State::kKnown : State::kLost;
  return is_first;
}

void MemoryGaps::finish_call(Totals totals) {
  before_ = totals;
  if (live_bytes_ != totals.allocated || segment_bytes_ != totals.reserved) lose();
}

void MemoryGaps::add_size(uint64_t size, uint64_t end) {
  constexpr size_t kFewestSizes = 1024;  // below, there is nothing to gain
  if (by_size_.size() > kFewestSizes && by_size_.size() > 4 * gaps_.size()) {
    by_size_ = {};
    for (auto const& [gap_end, gap] : gaps_) by_size_.emplace(gap_end - gap.begin, gap_end);
  }
  by_size_.emplace(size, end);
}

void MemoryGaps::set_gap(uint64_t begin, uint64_t end) {
  auto const segment = segments_.find(begin);
  bool const is_segment = segment != segments_.end() && segment->second == end;
  gaps_[end] = {begin, is_segment};
  add_size(end - begin, end);
  if (is_segment && empty_.insert(begin).second) empty_bytes_ += end - begin;
}

void MemoryGaps::drop_gap(std::map<uint64_t, Gap>::iterator gap) {
  if (gap->second.is_segment && empty_.erase(gap->second.begin) > 0)
    empty_bytes_ -= gap->first - gap->second.begin;
  gaps_.erase(gap);
}

bool MemoryGaps::take(Block block) {
  uint64_t const end = block.address + block.bytes;
  auto const found = gaps_.lower_bound(end);  // the first that ends at or behind the block's end
  if (found == gaps_.end() || found->second.begin > block.address) return false;

  auto const [begin, was_segment] = found->second;
  if (was_segment && empty_.erase(begin) > 0) empty_bytes_ -= found->first - begin;
  if (found->first == end) {
    gaps_.erase(found);
  } else {
    found->second = {end, false};
    add_size(found->first - end, found->first);
  }
  if (begin < block.address) set_gap(begin, block.address);
  return true;
}

bool MemoryGaps::add_segment(uint64_t address, uint64_t bytes) {
  uint64_t const end = address + bytes;
  if (bytes == 0 || end < address) return false;
  auto const next = segments_.lower_bound(address);
  if (next != segments_.end() && next->first < end) return false;
  if (next != segments_.begin() && std::prev(next)->second > address) return false;
  segments_.emplace(address, end);
  segment_bytes_ += bytes;
  set_gap(address, end);
  return true;
}

bool MemoryGaps::extend_segment(Block block, uint64_t grown) {
  auto const next = segments_.upper_bound(block.address);
  if (next == segments_.begin()) return false;
  auto const segment = std::prev(next);

  uint64_t const old_end = segment->second, end = old_end + grown;
  auto const tail = gaps_.find(old_end);
  bool const is_free = tail != gaps_.end() && tail->second.begin <= block.address;
  if (!is_free || block.address >= old_end || block.address + block.bytes > end || end < old_end)
    return false;
  if (next != segments_.end() && next->first < end) return false;

  uint64_t const begin = tail->second.begin;
  drop_gap(tail);
  segment->second = end;
  segment_bytes_ += grown;
  set_gap(begin, end);
  return true;
}

void MemoryGaps::give_back_empty() {
  for (uint64_t const begin : empty_) {
    auto const segment = segments_.find(begin);
    gaps_.erase(segment->second);
    segments_.erase(segment);
  }
  segment_bytes_ -= empty_bytes_;
  empty_bytes_ = 0;
  empty_.clear();
}

bool MemoryGaps::fits(Block block) const {
  auto const gap = gaps_.lower_bound(block.address + block.bytes);
  return gap != gaps_.end() && gap->second.begin <= block.address;
}

bool MemoryGaps::take_from_new_segment(Block block, Totals totals) {
  uint64_t const segment = totals.reserved > segment_bytes_ ? totals.reserved - segment_bytes_ : 0;
  return segment >= block.bytes && add_segment(block.address, segment) && take(block);
}

/// Puts the block into the gap or the new segment at its address.
void MemoryGaps::place(Block block, Totals totals) {
  if (totals.reserved < before_.reserved) {
    bool const gave_back_all = before_.reserved - totals.reserved == empty_bytes_;
    give_back_empty();
    // If the allocator released more than the reserve shrank, the rest is a new segment: it made
    // room for that.
    if (gave_back_all ? !take(block) : !take_from_new_segment(block, totals)) lose();
    return;
  }

  uint64_t const grown = totals.reserved - before_.reserved;
  if (grown == 0 && take(block)) return;
  if (fits(block)) {
    // With room there was no need to grow: the room had been given back.
    give_back_empty();
    if (fits(block) || !take_from_new_segment(block, totals)) lose();
    return;
  }

  if (grown > 0 && extend_segment(block, grown)) {
    if (!take(block)) lose();
    return;
  }
  // A growth smaller than the block is not the whole new segment: the allocator released the empty
  // ones for it.
  if (grown < block.bytes) give_back_empty();
  if (!take_from_new_segment(block, totals)) state_ = State::kRefuted;
}

void MemoryGaps::allocate(Block block, Totals totals) {
  if (!begin(block, totals)) return;
  if (block.address + block.bytes < block.address) return lose();
  if (block.bytes > 0) place(block, totals);
  live_bytes_ += block.bytes;
  finish_call(totals);
}

void MemoryGaps::put(Block block) {
  uint64_t begin = block.address, end = block.address + block.bytes;
  // Gaps of two segments that touch stay apart.
  auto const right = gaps_.upper_bound(end);
  if (right != gaps_.end() && right->second.begin == end && !segments_.contains(end)) {
    end = right->first;
    drop_gap(right);
  }

  auto const left = gaps_.find(begin);
  if (left != gaps_.end() && !segments_.contains(begin)) {
    begin = left->second.begin;
    drop_gap(left);
  }

  set_gap(begin, end);
}

void MemoryGaps::free(Block block, Totals totals) {
  if (state_ == State::kNothingSeen) state_ = State::kLost;
  if (state_ != State::kKnown) return;

  uint64_t const shrunk =
      before_.reserved > totals.reserved ? before_.reserved - totals.reserved : 0;
  // Whether the empty segments were released before the call, or by it.
  bool const before = shrunk > 0 && shrunk == empty_bytes_;
  if (before) give_back_empty();
  if (block.bytes > 0) put(block);
  live_bytes_ -= block.bytes;

  if (shrunk > 0 && !before) {
    auto const own = segments_.find(block.address);
    bool const is_own =
        own != segments_.end() && empty_.contains(own->first) && own->second - own->first == shrunk;
    if (is_own) {
      drop_gap(gaps_.find(own->second));
      segments_.erase(own);
      segment_bytes_ -= shrunk;
    } else if (shrunk == empty_bytes_) {
      give_back_empty();
    }
  }
  finish_call(totals);
}

std::optional<uint64_t> MemoryGaps::largest() {
  if (state_ != State::kKnown) return std::nullopt;
  while (!by_size_.empty()) {
    auto const [size, end] = by_size_.top();
    auto const gap = gaps_.find(end);
    if (gap != gaps_.end() && end - gap->second.begin == size) return size;
    by_size_.pop();
  }
  return 0;
}

}  // namespace stepscope::analyzer
