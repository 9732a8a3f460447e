#include "trace/base/malloc_tuning.h"

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

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

bool gives_huge_pages() {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(setting, line);
  return line.find("[never]") == std::string::npos && !line.empty();
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
  if (!gives_huge_pages() || huge_page_kib() < 0) GTEST_SKIP() << "the kernel gives no huge pages";
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer has an allocator of its own";
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
