// Numbers that look random and are the same on every machine: integers only, nothing from the
// standard library's distributions, whose results each implementation chooses for itself.
#pragma once

#include <cstdint>

namespace stepscope::synth {

/// splitmix64's mixing of 64 bits (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// A number for a place in the run, the same whenever it is asked for.
template <class... Places>
constexpr uint64_t hash_of(uint64_t seed, Places... places) {
  uint64_t hash = mix(seed + 0x9E3779B97F4A7C15ULL);
  ((hash = mix(hash ^ (static_cast<uint64_t>(places) + 0x9E3779B97F4A7C15ULL))), ...);
  return hash;
}

/// Moves `value` by at most `permille` of itself up or down, evenly; 0 ≤ value ≤ 2^36, permille ≤
/// 1000.
constexpr int64_t vary(int64_t value, int64_t permille, uint64_t random) {
  int64_t const span = value * permille / 1000;
  auto const sixteen_bits = static_cast<int64_t>(random >> 48);
  return value - span + ((2 * span * sixteen_bits) >> 16);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ULL); }
  int64_t vary(int64_t value, int64_t permille) { return synth::vary(value, permille, next()); }

 private:
  uint64_t state_;
};

}  // namespace stepscope::synth
