#include "tracer/nccl/chain/handle_pairs.h"

#include <sys/mman.h>

namespace stepscope::tracer::nccl {
namespace {

/// The number of a place while its pair is written.
constexpr uint64_t kBeingWritten = ~uint64_t{0};

}  // namespace

HandlePairs::HandlePairs(unsigned size_bits) : size_(size_t{1} << size_bits) {
  // Zeros are places without a number.
  void* const memory = ::mmap(nullptr, size_ * sizeof(Place), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) places_ = static_cast<Place*>(memory);
}

HandlePairs::~HandlePairs() {
  if (places_ != nullptr) ::munmap(places_, size_ * sizeof(Place));
}

uint64_t HandlePairs::add(HandlePair pair) {
  if (places_ == nullptr || (pair.own == 0 && pair.other == nullptr)) return 0;
  uint64_t const number = take_place();
  Place& to = place(number);

  // Who sees one of the new values sees also that the old number is gone.
  to.own.store(pair.own, std::memory_order_release);
  to.other.store(pair.other, std::memory_order_release);
  to.number.store(number, std::memory_order_release);
  return number;
}

uint64_t HandlePairs::take_place() {
  for (;;) {
    uint64_t const number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (place(number).number.exchange(kBeingWritten, std::memory_order_acquire) != kBeingWritten)
      return number;
  }
}

HandlePair HandlePairs::find(uint64_t number) const {
  if (places_ == nullptr || number == 0 || number == kBeingWritten) return {};
  Place const& from = place(number);
  if (from.number.load(std::memory_order_acquire) != number) return {};

  HandlePair const pair = {from.own.load(std::memory_order_acquire),
                           from.other.load(std::memory_order_acquire)};
  bool const was_displaced = from.number.load(std::memory_order_relaxed) != number;
  return was_displaced ? HandlePair() : pair;
}

}  // namespace stepscope::tracer::nccl
