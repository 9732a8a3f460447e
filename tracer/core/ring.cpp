#include "tracer/core/ring.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "trace/base/check.h"

namespace stepscope::tracer {

Ring::Ring(size_t bytes) {
  if (bytes == 0) return;
  STEPSCOPE_CHECK(bytes >= kMinBytes && (bytes & (bytes - 1)) == 0);
  // Fresh pages are given on first touch, so that a thread of few events holds little.
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  words_ = static_cast<uint64_t*>(memory);
  capacity_ = bytes / sizeof(uint64_t);
  mask_ = capacity_ - 1;
}

Ring::~Ring() {
  if (words_ != nullptr) ::munmap(words_, bytes());
}

void Ring::write_padding(uint64_t position, uint64_t count) {
  // count < kMaxRecordWords: only the rest that a record did not fit into.
  RecordHeader const header = {kPaddingRecord, 0, static_cast<uint16_t>(count), 0, 0};
  std::memcpy(words_ + position, &header, sizeof header);
}

void Ring::prefault(size_t bytes) {
  if (prefaulted_ == capacity_) return;
  constexpr uint64_t kStepWords = 128 * 1024 / sizeof(uint64_t);  // page aligned, few system calls
  uint64_t const wanted = std::min(capacity_, head() + bytes / sizeof(uint64_t));
  while (prefaulted_ < wanted) {
    uint64_t const words = std::min(kStepWords, capacity_ - prefaulted_);
#ifdef MADV_POPULATE_WRITE
    // Kernels before 5.14 refuse: then the producer's first writes take the faults.
    ::madvise(words_ + prefaulted_, words * sizeof(uint64_t), MADV_POPULATE_WRITE);
#endif
    prefaulted_ += words;
  }
}

void Ring::discard_memory() {
  if (words_ != nullptr) ::madvise(words_, bytes(), MADV_DONTNEED);
}

}  // namespace stepscope::tracer
