#include "tracer/core/flight/recent_blocks.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/base/check.h"
#include "tracer/core/flight/name_spaces.h"
#include "tracer/core/unforked_memory.h"

namespace stepscope::tracer {
namespace {

/// Some seconds of a training: old ones go one by one.
constexpr size_t kChunkBytes = size_t{1} << 20;

size_t bytes_of(KeptBlock const& block) { return block.payload.size() + sizeof(KeptBlock); }

}  // namespace

BlockChunk::BlockChunk(size_t bytes)
    : memory_(static_cast<std::byte*>(map_unforked(bytes))), bytes_(bytes) {
  if (memory_ == nullptr) throw std::bad_alloc();
}

BlockChunk::~BlockChunk() { unmap_unforked(memory_, bytes_); }

base::ByteSpan BlockChunk::add(base::ByteSpan bytes) {
  STEPSCOPE_CHECK(bytes.size() <= left());
  std::byte* const place = memory_ + used_;
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  used_ += bytes.size();
  return {place, bytes.size()};
}

KeptBlock RecentBlocks::keep(file::BlockHeader const& header, base::ByteSpan payload,
                             std::shared_ptr<BlockChunk>& chunk) {
  if (chunk == nullptr || chunk->left() < payload.size())
    chunk = std::make_shared<BlockChunk>(std::max(kChunkBytes, payload.size()));
  return {header, chunk->add(payload), chunk};
}

base::Expected<void> RecentBlocks::add(file::BlockHeader const& header, base::ByteSpan payload) {
  auto const type = static_cast<file::BlockType>(header.type);
  if (type == file::BlockType::kStrings)
    names_.back().blocks.push_back(keep(header, payload, names_chunk_));
  if (type != file::BlockType::kEvents) return {};

  events_.push_back(keep(header, payload, events_chunk_));
  bytes_.fetch_add(bytes_of(events_.back()), std::memory_order_relaxed);
  drop_old();
  return {};
}

void RecentBlocks::begin_names() {
  names_.back().events_until = first_event_ + events_.size();
  names_.emplace_back();
  names_chunk_.reset();
  while (names_.size() > kNameSpaces) {
    is_cut_by_bytes_ = true;
    while (first_event_ < names_.front().events_until) drop_first();
    names_.pop_front();
  }
  drop_old();
}

void RecentBlocks::drop_first() {
  KeptBlock const& first = events_.front();
  int64_t const end = first.header.max_end;
  if (end > complete_since_ns()) complete_since_ns_.store(end, std::memory_order_relaxed);
  bytes_.fetch_sub(bytes_of(first), std::memory_order_relaxed);
  events_.pop_front();
  ++first_event_;
}

void RecentBlocks::drop_old() {
  int64_t const from = keep_from_ns_.load(std::memory_order_relaxed);
  while (!events_.empty() && events_.front().header.max_end < from) {
    is_cut_by_bytes_ = false;
    drop_first();
  }

  while (events_.size() > 1 && bytes() > max_bytes_) {
    is_cut_by_bytes_ = true;
    drop_first();
  }

  while (names_.front().events_until <= first_event_) names_.pop_front();
}

void RecentBlocks::clear() {
  events_.clear();
  names_ = std::deque<Names>(1);
  events_chunk_.reset();
  names_chunk_.reset();
}

KeptBlocks RecentBlocks::copy() const {
  KeptBlocks kept;
  for (Names const& names : names_)
    kept.names.insert(kept.names.end(), names.blocks.begin(), names.blocks.end());
  kept.events.assign(events_.begin(), events_.end());
  kept.complete_since_ns = complete_since_ns();
  kept.is_cut_by_bytes = is_cut_by_bytes_;
  return kept;
}

}  // namespace stepscope::tracer
