// The mutations of the fuzzers whose input is one byte, a choice, and a file. A .stepscope file is
// changed block by block, so that its checksums and its index stay sound, or its index lies on
// purpose. Any other file is changed byte by byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>

#include "tests/fuzz/mutators/damaged_trace.h"

// libFuzzer's own mutations; replay.cpp has some of the kind.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace stepscope;
  std::mt19937_64 random(seed);
  auto const file = std::as_bytes(std::span(data, size)).subspan(std::min<size_t>(size, 1));
  if (!fuzz::begins_as_trace(file) || random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  if (random() % 16 == 0) {
    data[0] = static_cast<uint8_t>(random());
    return size;
  }

  auto blocks = fuzz::take_apart(file);
  for (uint64_t count = 1 + random() % 3; count > 0; --count)
    fuzz::mutate_blocks(blocks, random, LLVMFuzzerMutate);
  fuzz::IndexForm const index = fuzz::any_index_form(random);
  auto const made = fuzz::put_together(blocks, index, random);
  if (made.size() + 1 > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data + 1, made.data(), made.size());
  return made.size() + 1;
}
