#include "tracer/core/unforked_memory.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <numeric>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

constexpr size_t kBytes = 8 << 20;

/// What `look` returns in a forked child, or -1 when the child did not end by itself.
int in_child(std::function<int()> const& look) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(look());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// Pages of the memory, which begins with a page, that the calling process has.
size_t pages_there(void* memory, size_t bytes) {
  auto const page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> are_there((bytes + page - 1) / page);
  if (::mincore(memory, bytes, are_there.data()) != 0) return SIZE_MAX;
  return static_cast<size_t>(std::count_if(are_there.begin(), are_there.end(),
                                           [](unsigned char one) { return (one & 1U) != 0; }));
}

TEST(UnforkedMemory, a_child_has_no_page_of_it_and_finds_zeros) {
  UnforkedColumn<uint64_t> column(kBytes / sizeof(uint64_t));
  std::iota(column.begin(), column.end(), uint64_t{1});
  EXPECT_GT(pages_there(column.data(), kBytes), 0U);

  EXPECT_EQ(in_child([&] { return pages_there(column.data(), kBytes) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(in_child([&] {
              return std::count(column.begin(), column.end(), 0U) ==
                             static_cast<ptrdiff_t>(column.size())
                         ? 0
                         : 1;
            }),
            0);
}

TEST(UnforkedMemory, what_the_parent_has_and_writes_is_its_own) {
  UnforkedColumn<uint64_t> column(kBytes / sizeof(uint64_t));
  std::iota(column.begin(), column.end(), uint64_t{1});

  EXPECT_EQ(in_child([&] {
              std::fill(column.begin(), column.end(), 7U);
              return 0;
            }),
            0);
  for (size_t i = 0; i < column.size(); ++i) ASSERT_EQ(column[i], i + 1);

  std::fill(column.begin(), column.end(), 5U);
  EXPECT_EQ(in_child([&] { return static_cast<int>(column.front() + column.back()); }), 0);
}

TEST(UnforkedMemory, a_column_keeps_its_values_while_it_grows_past_the_heap) {
  UnforkedColumn<uint32_t> column;
  constexpr uint32_t kRows = 4 * kUnforkedFrom / sizeof(uint32_t);
  for (uint32_t i = 0; i < kRows; ++i) column.push_back(i);
  for (uint32_t i = 0; i < kRows; ++i) ASSERT_EQ(column[i], i);

  UnforkedColumn<uint32_t> const moved = std::move(column);
  EXPECT_EQ(moved.size(), kRows);
  EXPECT_EQ(moved.back(), kRows - 1);
}

TEST(UnforkedMemory, reports_that_there_is_none) {
  constexpr size_t kMoreThanThereIs = size_t{1} << 60;
  EXPECT_EQ(map_unforked(kMoreThanThereIs), nullptr);
  EXPECT_THROW(static_cast<void>(allocate_unforked(kMoreThanThereIs)), std::bad_alloc);
  unmap_unforked(nullptr, kBytes);
}

}  // namespace
}  // namespace stepscope::tracer
