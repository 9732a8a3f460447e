// The free gaps between live blocks, compared with an allocator that tracks its segments byte by
// byte.
#include "analyzer/metrics/memory/memory_gaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/sanitized.h"

namespace stepscope::analyzer {
namespace {

using Block = MemoryGaps::Block;
using Totals = MemoryGaps::Totals;

/// A caching allocator in a space of `kSpace` bytes. Each byte has its segment and whether it is in
/// use.
class ToyAllocator {
 public:
  explicit ToyAllocator(uint32_t seed) : random_(seed), segment_(kSpace, 0), used_(kSpace, false) {}

  static constexpr uint64_t kSpace = 1200, kLargestBlock = 40;

  [[nodiscard]] uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  [[nodiscard]] bool chance(uint64_t percent) { return pick(1, 100) <= percent; }
  [[nodiscard]] Totals totals() const {
    auto const reserved = static_cast<uint64_t>(
        std::count_if(segment_.begin(), segment_.end(), [](int s) { return s != 0; }));
    return {static_cast<uint64_t>(std::count(used_.begin(), used_.end(), true)), reserved};
  }
  /// The longest run of unused bytes within one segment.
  [[nodiscard]] uint64_t largest_gap() const {
    uint64_t largest = 0;
    for (uint64_t begin = 0; begin < kSpace; ++begin) {
      uint64_t end = begin;
      while (end < kSpace && segment_[end] == segment_[begin] && segment_[begin] != 0 &&
             !used_[end])
        ++end;
      largest = std::max(largest, end - begin);
    }
    return largest;
  }
  [[nodiscard]] uint64_t empty_bytes() const {
    uint64_t bytes = 0;
    for (auto const& [id, is_empty] : empty_segments())
      if (is_empty)
        bytes += static_cast<uint64_t>(std::count(segment_.begin(), segment_.end(), id));
    return bytes;
  }
  void give_back() {
    for (auto const& [id, is_empty] : empty_segments())
      if (is_empty) std::replace(segment_.begin(), segment_.end(), id, 0);
  }

  /// Takes a gap, a segment that grows at its end, or a new segment. Returns nothing if there is no
  /// room.
  std::optional<Block> allocate() {
    uint64_t const bytes = pick(1, kLargestBlock);
    std::vector<uint64_t> fits, tails;

    for (uint64_t at = 0; at < kSpace; ++at) {
      if (segment_[at] == 0 || used_[at]) continue;
      uint64_t end = at;
      while (end < kSpace && end < at + bytes && segment_[end] == segment_[at] && !used_[end])
        ++end;
      if (end == at + bytes) fits.push_back(at);
      bool const is_tail = end < at + bytes && (end == kSpace || segment_[end] != segment_[at]);
      if (is_tail && has_space(end, at + bytes)) tails.push_back(at);
    }

    if (!fits.empty()) return use({fits[pick(0, fits.size() - 1)], bytes});
    if (!tails.empty() && chance(40)) return extend({tails[pick(0, tails.size() - 1)], bytes});
    return allocate_segment(bytes);
  }
  void free(Block block) {
    std::fill_n(used_.begin() + static_cast<ptrdiff_t>(block.address), block.bytes, false);
  }

 private:
  [[nodiscard]] std::map<int, bool> empty_segments() const {
    std::map<int, bool> empty;
    for (uint64_t at = 0; at < kSpace; ++at)
      if (segment_[at] != 0)
        empty[segment_[at]] = empty.try_emplace(segment_[at], true).first->second && !used_[at];
    return empty;
  }
  [[nodiscard]] bool has_space(uint64_t begin, uint64_t end) const {
    if (end > kSpace) return false;
    return std::all_of(segment_.begin() + static_cast<ptrdiff_t>(begin),
                       segment_.begin() + static_cast<ptrdiff_t>(end),
                       [](int s) { return s == 0; });
  }
  Block use(Block block) {
    std::fill_n(used_.begin() + static_cast<ptrdiff_t>(block.address), block.bytes, true);
    return block;
  }
  Block extend(Block block) {
    uint64_t end = block.address + block.bytes;
    for (uint64_t more = pick(0, 20); more > 0 && has_space(end, end + 1); --more) ++end;
    for (uint64_t at = block.address; at < end; ++at) segment_[at] = segment_[block.address];
    return use(block);
  }
  std::optional<Block> allocate_segment(uint64_t bytes) {
    uint64_t const size = bytes + pick(0, 60);
    std::vector<uint64_t> places;  // not where segments are that are given back for it
    for (uint64_t at = 0; at + size <= kSpace; ++at)
      if (has_space(at, at + size)) places.push_back(at);
    if (places.empty()) return std::nullopt;
    uint64_t const at = places[pick(0, places.size() - 1)];
    // The totals must show it. They do not if the new segment exceeds the block by more than the
    // allocator gives back.
    if (size < bytes + empty_bytes() && chance(50)) give_back();
    std::fill_n(segment_.begin() + static_cast<ptrdiff_t>(at), size, ++last_segment_);
    return use({at, bytes});
  }

  std::mt19937 random_;
  std::vector<int> segment_;  ///< 0 = not reserved
  std::vector<bool> used_;
  int last_segment_ = 0;
};

TEST(MemoryGaps, AreThoseOfTheAllocatorAfterEveryCall) {
  uint32_t const allocators = support::kSanitized ? 20 : 300;
  size_t grown = 0, gave_back = 0;
  for (uint32_t seed = 0; seed < allocators; ++seed) {
    ToyAllocator toy(seed);
    MemoryGaps gaps;
    std::vector<Block> live;

    for (int call = 0; call < 150; ++call) {
      Totals const before = toy.totals();
      if (live.empty() || toy.chance(55)) {
        auto const block = toy.allocate();
        if (!block) continue;
        live.push_back(*block);
        gaps.allocate(*block, toy.totals());
      } else {
        // The next call shows that the cache was emptied since.
        if (toy.chance(10)) toy.give_back();
        size_t const which = toy.pick(0, live.size() - 1);
        Block const block = live[which];
        live.erase(live.begin() + static_cast<ptrdiff_t>(which));
        toy.free(block);
        if (toy.chance(5) && before.reserved == toy.totals().reserved) toy.give_back();
        gaps.free(block, toy.totals());
      }

      grown += toy.totals().reserved > before.reserved ? 1 : 0;
      gave_back += toy.totals().reserved < before.reserved ? 1 : 0;
      ASSERT_EQ(gaps.largest(), toy.largest_gap()) << "allocator " << seed << " call " << call;
    }
  }

  EXPECT_GT(grown, allocators * 5) << "the toy allocators should grow";
  EXPECT_GT(gave_back, allocators) << "and give back";
}

TEST(MemoryGaps, AreNotKnownWhereTheAllocatorIsOlderThanTheRecording) {
  MemoryGaps gaps;
  gaps.allocate({100, 10}, {50, 200});
  EXPECT_FALSE(gaps.largest());
  EXPECT_FALSE(gaps.is_refuted());
  gaps.allocate({200, 10}, {60, 200});
  EXPECT_FALSE(gaps.largest());
}

TEST(MemoryGaps, ABlockOutsideOfEverySegmentRefutesEarlierGaps) {
  MemoryGaps gaps;
  gaps.allocate({1000, 10},
                {10, 200});  // 190 bytes of it were cached before the recording began, elsewhere
  EXPECT_EQ(gaps.largest(), 190U);
  gaps.allocate({5000, 10}, {20, 200});
  EXPECT_FALSE(gaps.largest());
  EXPECT_TRUE(gaps.is_refuted());
}

TEST(MemoryGaps, WhatIsLostStaysLostButIsNotRefuted) {
  MemoryGaps gaps;
  gaps.allocate({1000, 10}, {10, 200});
  gaps.free({1000, 10}, {0, 150});  // part of a segment was given back: it is not known which
  EXPECT_FALSE(gaps.largest());
  EXPECT_FALSE(gaps.is_refuted());
  gaps.allocate({1000, 10}, {10, 150});
  EXPECT_FALSE(gaps.largest());
}

TEST(MemoryGaps, MemoryWithoutACacheHasNone) {
  MemoryGaps gaps;
  gaps.allocate({1000, 10}, {10, 10});
  gaps.allocate({2000, 30}, {40, 40});
  gaps.free({1000, 10}, {30, 30});
  EXPECT_EQ(gaps.largest(), 0U);
}

TEST(MemoryGaps, OddCallsAreNoError) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    auto const number = [&] { return random() % 8 == 0 ? random() : random() % 64; };
    MemoryGaps gaps;
    std::map<uint64_t, uint64_t> live;

    uint64_t const first = number();
    gaps.allocate({first, 8}, {8, 64});
    live[first] = 8;

    for (int call = 0; call < 40; ++call) {
      Totals const totals{number(), number()};
      if (random() % 2 == 0) {
        Block const block{number(), number()};
        if (!live.try_emplace(block.address, block.bytes).second) continue;
        gaps.allocate(block, totals);
      } else if (!live.empty()) {
        Block const block{live.begin()->first, live.begin()->second};
        live.erase(live.begin());
        gaps.free(block, totals);
      }

      EXPECT_LE(gaps.largest().value_or(0), totals.reserved);
    }
  }
}

}  // namespace
}  // namespace stepscope::analyzer
