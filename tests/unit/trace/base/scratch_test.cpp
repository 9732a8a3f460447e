#include "trace/base/scratch.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

size_t bytes_in_use = 0;

void* allocate_counted(size_t bytes) {
  bytes_in_use += bytes;
  return allocate_on_heap(bytes);
}

void free_counted(void* memory, size_t bytes) noexcept {
  bytes_in_use -= bytes;
  free_on_heap(memory, bytes);
}

constexpr BlockMemory kCounted = {allocate_counted, free_counted};

TEST(Scratch, has_room_for_what_is_asked_for_and_keeps_it_for_less) {
  Scratch<uint64_t> scratch;
  EXPECT_EQ(scratch.room(0).size(), 0U);

  std::span<uint64_t> const wide = scratch.room(1000);
  ASSERT_EQ(wide.size(), 1000U);
  std::iota(wide.begin(), wide.end(), 0U);
  EXPECT_EQ(wide.back(), 999U);

  std::span<uint64_t> const narrow = scratch.room(10);
  EXPECT_EQ(narrow.size(), 10U);
  EXPECT_EQ(narrow.data(), wide.data());
}

TEST(Scratch, gives_everything_back_to_where_it_was_taken_from) {
  {
    Scratch<uint32_t> first(kCounted);
    static_cast<void>(first.room(10));
    static_cast<void>(first.room(100'000));
    EXPECT_GE(bytes_in_use, 100'000 * sizeof(uint32_t));

    Scratch<uint32_t> moved(std::move(first));
    Scratch<uint32_t> assigned;
    static_cast<void>(assigned.room(7));
    assigned = std::move(moved);
    EXPECT_EQ(assigned.room(100'000).size(), 100'000U);
  }
  EXPECT_EQ(bytes_in_use, 0U);
}

}  // namespace
}  // namespace stepscope::base
