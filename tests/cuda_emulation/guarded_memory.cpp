#include "tests/cuda_emulation/guarded_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

namespace stepscope::cuda_emulation {
namespace {

constexpr size_t kPage = 4096;
constexpr int kPoison = 0xFF;

std::vector<GuardedMemory const*>& living() {
  static std::vector<GuardedMemory const*> memories;
  return memories;
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes, GuardedEnd end, std::string name)
    : name_(std::move(name)),
      body_(std::max<size_t>(1, (bytes + kPage - 1) / kPage) * kPage),
      bytes_(bytes) {
  void* const pages =
      mmap(nullptr, body_ + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    std::perror("memory of an emulated device");
    std::abort();
  }

  pages_ = static_cast<char*>(pages);
  std::memset(pages_ + kPage, kPoison, body_);
  mprotect(pages_, kPage, PROT_NONE);
  mprotect(pages_ + kPage + body_, kPage, PROT_NONE);

  data_ = pages_ + kPage + (end == GuardedEnd::kBack ? body_ - bytes : 0);
  living().push_back(this);
}
GuardedMemory::~GuardedMemory() {
  std::erase(living(), this);
  munmap(pages_, body_ + 2 * kPage);
}

bool GuardedMemory::is_surrounding_intact() const {
  auto const is_poison = [](char byte) { return byte == static_cast<char>(kPoison); };
  char* const begin = pages_ + kPage;
  return std::all_of(begin, data_, is_poison) &&
         std::all_of(data_ + bytes_, begin + body_, is_poison);
}

bool GuardedMemory::has_page_of(void const* address) const {
  return address >= pages_ && address < pages_ + body_ + 2 * kPage;
}

std::vector<GuardedMemory const*> const& living_memories() { return living(); }

std::string describe_address(void const* address) {
  for (GuardedMemory const* const memory : living()) {
    if (!memory->has_page_of(address)) continue;

    auto const offset =
        static_cast<char const*>(address) - static_cast<char const*>(memory->data());
    auto const size = static_cast<std::ptrdiff_t>(memory->bytes());
    if (offset < 0)
      return fmt::format("{} bytes in front of {} (of {} bytes)", -offset, memory->name(), size);
    return fmt::format("{} bytes behind {} (of {} bytes)", offset - size, memory->name(), size);
  }
  return fmt::format("{}, in no array", address);
}

}  // namespace stepscope::cuda_emulation
