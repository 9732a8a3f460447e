// The host device's memory arena: capacity, reuse, joining of free blocks, and what an
// out-of-memory error says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "workloads/backend/arena.h"
#include "workloads/backend/host/host_device.h"
#include "workloads/data/random.h"

namespace stepscope::workloads::host {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20U;

void* allocate(Arena& arena, uint64_t bytes, std::string_view owner = "someone") {
  return arena.allocate(bytes, MemoryPurpose::kOther, owner).value().data;
}

TEST(Arena, CountsRoundedLiveBytesAndKeepsThePeak) {
  Arena arena("host:0", 64 * kMiB, mapped_memory());
  void* const a = allocate(arena, 1000);
  void* const b = allocate(arena, 3 * kMiB);
  EXPECT_EQ(arena.use().allocated_bytes, 1024 + 3 * kMiB);

  arena.release(a);
  arena.release(b);
  EXPECT_EQ(arena.use().allocated_bytes, 0U);
  EXPECT_EQ(arena.use().peak_allocated_bytes, 1024 + 3 * kMiB);
  EXPECT_GE(arena.use().reserved_bytes, 3 * kMiB);
  EXPECT_LE(arena.use().reserved_bytes, 64 * kMiB);
}

TEST(Arena, ReusesAFreedBlockWithoutReservingMore) {
  Arena arena("host:0", 64 * kMiB, mapped_memory());
  void* const a = allocate(arena, 5 * kMiB);
  uint64_t const reserved = arena.use().reserved_bytes;
  arena.release(a);
  EXPECT_EQ(allocate(arena, 5 * kMiB), a);
  EXPECT_EQ(arena.use().reserved_bytes, reserved);
}

TEST(Arena, JoinsFreeNeighbours) {
  Arena arena("host:0", 8 * kMiB, mapped_memory());
  std::vector<void*> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(allocate(arena, 2 * kMiB));
  for (size_t const i : {1U, 3U, 0U, 2U}) arena.release(parts[i]);
  EXPECT_TRUE(arena.allocate(8 * kMiB, MemoryPurpose::kOther, "all").has_value());
}

TEST(Arena, CanHoldItsWholeCapacityAndNotAByteMore) {
  Arena arena("host:0", 8 * kMiB, mapped_memory());
  void* const all = allocate(arena, 8 * kMiB);
  EXPECT_FALSE(arena.allocate(1, MemoryPurpose::kOther, "more").has_value());
  arena.release(all);
  EXPECT_FALSE(arena.allocate(8 * kMiB + 1, MemoryPurpose::kOther, "more").has_value());
  EXPECT_TRUE(arena.allocate(8 * kMiB, MemoryPurpose::kOther, "all").has_value());
}

TEST(Arena, OutOfMemorySaysWhoAskedWhatIsLeftAndWhoHoldsTheRest) {
  Arena arena("host:3", 16 * kMiB, mapped_memory());
  static_cast<void>(allocate(arena, 10 * kMiB, "conv1"));
  static_cast<void>(allocate(arena, 2 * kMiB, "weights"));
  auto const refused = arena.allocate(8 * kMiB, MemoryPurpose::kActivations, "conv2.gradient");

  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(
      refused.error().message,
      ::testing::AllOf(HasSubstr("host:3: out of memory: conv2.gradient asked for 8.00 MiB"),
                       HasSubstr("4.00 MiB of 16.0 MiB are free (largest block 4.00 MiB)"),
                       HasSubstr("held by conv1 10.0 MiB, weights 2.00 MiB"),
                       HasSubstr("--memory-limit")));
}

TEST(Arena, RandomUseNeverHandsOutAByteTwice) {
  Arena arena("host:0", 32 * kMiB, mapped_memory());
  Random random(3);
  std::map<unsigned char*, std::pair<size_t, unsigned char>> live;

  for (int i = 0; i < 3000; ++i) {
    if (random.below(2) == 0 || live.empty()) {
      size_t const bytes = 1 + random.below(600'000);
      auto const block = arena.allocate(bytes, MemoryPurpose::kOther, "random");
      if (!block) continue;
      auto const mark = static_cast<unsigned char>(random.below(256));
      std::memset(block->data, mark, bytes);
      live[static_cast<unsigned char*>(block->data)] = {bytes, mark};
    } else {
      auto const victim = std::next(live.begin(), random.below(static_cast<uint32_t>(live.size())));
      auto const [bytes, mark] = victim->second;
      ASSERT_EQ(victim->first[0], mark);
      ASSERT_EQ(std::memcmp(victim->first, victim->first + 1, bytes - 1), 0);
      arena.release(victim->first);
      live.erase(victim);
    }
  }

  for (auto const& [data, rest] : live) arena.release(data);
  EXPECT_EQ(arena.use().allocated_bytes, 0U);
  EXPECT_LE(arena.use().peak_reserved_bytes, 32 * kMiB);
}

TEST(Arena, ReservesAllAtOnceWhenAskedToAndGrowsInChunksOtherwise) {
  constexpr uint64_t kCapacity = 16U << 20U;
  Arena whole("host:0", kCapacity, mapped_memory()), growing("host:0", kCapacity, mapped_memory());
  ASSERT_TRUE(whole.reserve_all().has_value());
  EXPECT_EQ(whole.use().reserved_bytes, kCapacity);
  EXPECT_EQ(growing.use().reserved_bytes, 0U);
  ASSERT_TRUE(growing.allocate(1000, api::MemoryPurpose::kOther, "a").has_value());
  EXPECT_EQ(growing.use().reserved_bytes, Arena::kSegmentUnit);
  // One segment: the largest block is as large as the device.
  EXPECT_TRUE(whole.allocate(kCapacity, api::MemoryPurpose::kOther, "a").has_value());
}

TEST(Arena, SaysWhenTheSystemHasNotSoMuch) {
  Arena arena("host:0", uint64_t{1} << 46U, mapped_memory());
  auto const reserved = arena.reserve_all();
  ASSERT_FALSE(reserved.has_value());
  EXPECT_NE(reserved.error().message.find("--memory-limit"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::workloads::host
