// Runs a fuzz target without libFuzzer, the same way every time, over its corpus and over mutations
// of it. Mutations are bits, bytes, lengths, cuts, repeats, or the target's own. So every build
// tests what the fuzzers test, if less of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "tests/fuzz/mutators/mutate_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size);
/// Targets with mutations of their own have it (trace_mutator.cpp).
extern "C" [[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                        unsigned seed);

namespace {

using Bytes = std::vector<uint8_t>;
using stepscope::fuzz::mutate_once;

Bytes read_bytes(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::mt19937_64& shared_random() {
  static std::mt19937_64 random(1);
  return random;
}

/// One mutation more than the input had; at most kMostBytes.
Bytes mutated(Bytes bytes, std::mt19937_64& random) {
  constexpr size_t kMostBytes = 1 << 16;
  if (LLVMFuzzerCustomMutator == nullptr) {
    for (uint64_t count = 1 + random() % 4; count > 0; --count) mutate_once(bytes, random);
    return bytes;
  }

  size_t const size = bytes.size();
  bytes.resize(std::max(size, kMostBytes));
  bytes.resize(
      LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), static_cast<unsigned>(random())));
  return bytes;
}

}  // namespace

/// For mutations of a target's own, which libFuzzer gives the same.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  Bytes bytes(data, data + size);
  mutate_once(bytes, shared_random());
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

/// usage: replay CORPUS_FOLDER MUTATIONS_A_FILE
int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} CORPUS_FOLDER MUTATIONS_A_FILE\n", argv[0]);
    return 2;
  }

  auto const mutations = std::strtoul(argv[2], nullptr, 10);
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (auto const& entry : std::filesystem::directory_iterator(argv[1], error))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    fmt::print(stderr, "{}: has no files, name a folder of tests/fuzz/corpus\n", argv[1]);
    return 1;
  }

  uint64_t inputs = 0;
  for (auto const& file : files) {
    Bytes const original = read_bytes(file);
    LLVMFuzzerTestOneInput(original.data(), original.size());
    std::mt19937_64 random(original.size());
    for (unsigned long i = 0; i < mutations; ++i) {
      Bytes const bytes = mutated(original, random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    inputs += 1 + mutations;
  }

  fmt::print("{} files, {} inputs: none crashed\n", files.size(), inputs);
  return 0;
}
