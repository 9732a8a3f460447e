#include "trace/base/malloc_tuning.h"

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "trace/base/huge_pages.h"

namespace stepscope::base {
namespace {

constexpr size_t kColumnBytes = size_t{64} << 20;

/// KiB of this process in huge pages; −1: the kernel does not tell.
long huge_page_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;)
    if (long kib = 0; word == "AnonHugePages:" && rollup >> kib) return kib;
  return -1;
}

/// Whether the kernel has huge pages to give at all.
bool gives_huge_pages() {
  void* const memory = ::mmap(nullptr, kColumnBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  ask_for_huge_pages(memory, kColumnBytes);
  std::memset(memory, 1, kColumnBytes);

  bool const are_given = huge_page_kib() * 1024 > static_cast<long>(kColumnBytes / 2);
  ::munmap(memory, kColumnBytes);
  return are_given;
}

/// Fills a column in many small parts and exits with 0 where most of it lies in huge pages. Runs in
/// a process of its own, because the settings cannot be taken back.
[[noreturn]] void fill_a_column() {
  keep_freed_memory();
  std::vector<std::vector<char>> parts;
  constexpr size_t kPartBytes = size_t{64} << 10;
  for (size_t bytes = 0; bytes < kColumnBytes; bytes += kPartBytes)
    parts.emplace_back(kPartBytes, 'x');
  std::_Exit(huge_page_kib() * 1024 > static_cast<long>(kColumnBytes / 2) ? 0 : 1);
}

TEST(MallocTuning, KeptMemoryComesInHugePages) {
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  if (!gives_huge_pages()) GTEST_SKIP() << "the kernel gives no huge pages";
  EXPECT_EXIT(fill_a_column(), testing::ExitedWithCode(0), "");
}

/// A limit of the address space is for what the process needs.
[[noreturn]] void measure_heap_under_a_limit() {
  rlimit const limit{size_t{8} << 30, size_t{8} << 30};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  auto const virtual_pages = [] {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };

  long const before = virtual_pages();
  keep_freed_memory();
  std::_Exit(virtual_pages() - before < 1024 ? 0 : 1);
}

TEST(MallocTuning, ALimitOfTheAddressSpaceIsLeftAlone) {
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer needs more address space than that";
  EXPECT_EXIT(measure_heap_under_a_limit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stepscope::base
