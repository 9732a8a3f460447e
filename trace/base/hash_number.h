// A hash of integers that a file chooses: std::hash is the number itself, so that a file can put
// all of its ids into one bucket.
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace stepscope::base {

/// Every bit of the result depends on every bit of the number, one to one: the finalizer of
/// SplitMix64 (Steele et al. 2014).
constexpr uint64_t mixed_bits(uint64_t number) {
  number = (number ^ number >> 30U) * 0xBF58'476D'1CE4'E5B9U;
  number = (number ^ number >> 27U) * 0x94D0'49BB'1331'11EBU;
  return number ^ number >> 31U;
}

/// Chosen when the program first asks: who writes a file knows neither when nor where in memory
/// that is. Nothing that is shown or written may depend on it.
inline uint64_t hash_seed() {
  static uint64_t const seed = [] {
    char const here = 0;
    auto const place = std::bit_cast<uintptr_t>(&here);
    return mixed_bits(
        mixed_bits(place) +
        static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  }();
  return seed;
}

/// The hash of a std::unordered_map or set whose keys come from a file.
struct HashNumber {
  uint64_t seed = hash_seed();
  size_t operator()(std::integral auto number) const noexcept {
    return mixed_bits(static_cast<uint64_t>(number) ^ seed);
  }
};

}  // namespace stepscope::base
