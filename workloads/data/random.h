// A small deterministic random generator (SplitMix64: Steele, Lea, Flood, OOPSLA 2014). Seeded from
// what an item *is*, never shared between threads, so that results do not depend on timing.
#pragma once

#include <cmath>
#include <cstdint>

namespace stepscope::workloads {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// A stream of its own for each combination: Random::of(seed, epoch, image).
  template <class... Parts>
  static Random of(uint64_t seed, Parts... parts) {
    Random random(seed);
    ((random.state_ = random.next() ^ (static_cast<uint64_t>(parts) * 0x9E37'79B9'7F4A'7C15ULL)),
     ...);
    return random;
  }

  uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
    return z ^ (z >> 31U);
  }
  /// Uniform in [0, 1).
  float uniform() { return static_cast<float>(next() >> 40U) * 0x1.0p-24F; }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Uniform in [0, count).
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(((next() >> 32U) * count) >> 32U); }
  /// Standard normal (Box-Muller).
  float normal() {
    constexpr float kTwoPi = 6.2831853F;
    float const radius = std::sqrt(-2.0F * std::log(1.0F - uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }
  /// Standard normal, redrawn outside two standard deviations.
  float truncated_normal() {
    for (;;) {
      float const value = normal();
      if (std::fabs(value) <= 2.0F) return value;
    }
  }

 private:
  uint64_t state_;
};

}  // namespace stepscope::workloads
