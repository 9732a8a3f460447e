#include "tracer/core/clock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stepscope::tracer {
namespace {

/// Tries of which the tightest counts: one is usually enough, four make a preempted one improbable.
constexpr int kSampleTries = 4;

/// EAX, EBX, ECX, EDX of a leaf of CPUID; nothing on processors without it.
using Leaf = std::array<uint32_t, 4>;
std::optional<Leaf> cpu_leaf(uint32_t number) {
#if defined(__x86_64__)
  Leaf leaf{};
  if (__get_cpuid(number, &leaf[0], &leaf[1], &leaf[2], &leaf[3]) != 0) return leaf;
#endif
  static_cast<void>(number);
  return {};
}

bool has_invariant_tsc() {
  constexpr uint32_t kPowerLeaf = 0x8000'0007, kInvariantTscBit = 1U << 8;
  auto const power = cpu_leaf(kPowerLeaf);
  return power && ((*power)[3] & kInvariantTscBit) != 0;
}

}  // namespace

TickSource choose_tick_source() {
  return has_invariant_tsc() ? TickSource::kTimeStampCounter : TickSource::kMonotonicClock;
}

char const* to_string(TickSource source) {
  return source == TickSource::kTimeStampCounter ? "time-stamp counter" : "CLOCK_MONOTONIC";
}

std::string cpu_brand() {
  constexpr uint32_t kFirstLeaf = 0x8000'0002, kLastLeaf = 0x8000'0004;
  std::string brand;
  for (uint32_t number = kFirstLeaf; number <= kLastLeaf; ++number) {
    auto const leaf = cpu_leaf(number);
    if (!leaf) return {};
    brand.append(reinterpret_cast<char const*>(leaf->data()), sizeof *leaf);
  }
  brand.resize(::strnlen(brand.data(), brand.size()));
  brand.erase(0, brand.find_first_not_of(' '));
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand;
}

ClockSample sample_clocks(TickSource source) {
  ClockSample best;
  if (source == TickSource::kMonotonicClock) {
    best.ticks = best.monotonic_ns = monotonic_ns();
    return best;
  }
  int64_t best_width = INT64_MAX;
  for (int i = 0; i < kSampleTries; ++i) {
    int64_t const before = read_ticks(source);
    int64_t const now = monotonic_ns();
    int64_t const after = read_ticks(source);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {before + (after - before) / 2, now};
  }
  return best;
}

ClockFit::ClockFit(ClockSample origin) : origin_monotonic_ns_(origin.monotonic_ns), last_(origin) {
  lines_.push_back({origin.ticks, 0, 1.0});
}

void ClockFit::add(ClockSample sample) {
  if (sample.ticks <= last_.ticks || sample.monotonic_ns < last_.monotonic_ns) return;
  double const slope = static_cast<double>(sample.monotonic_ns - last_.monotonic_ns) /
                       static_cast<double>(sample.ticks - last_.ticks);
  // The newest line becomes known only now: it ran from the previous sample to this one; the next
  // goes on with its slope.
  lines_.back().ns_per_tick = slope;
  set_current_line(lines_.back(), sample);
  if (lines_.size() == kMaxLines) lines_.erase(lines_.begin(), lines_.begin() + kMaxLines / 2);
  lines_.push_back({sample.ticks, sample.monotonic_ns - origin_monotonic_ns_, slope});
  last_ = sample;
}

void ClockFit::set_current_line(Line const& line, ClockSample end) {
  // Ticks of at most 8 ns and less than 2^32 of them, more than a second: the product stays below
  // 2^63.
  constexpr int64_t kMaxTicks = int64_t{1} << 32;
  constexpr double kMaxNsPerTick = 8;
  int64_t const ticks = end.ticks - line.ticks;
  bool const fits = ticks < kMaxTicks && line.ns_per_tick < kMaxNsPerTick;
  auto const ns_per_tick =
      fits ? static_cast<uint64_t>(line.ns_per_tick * static_cast<double>(uint64_t{1} << kFraction))
           : 0;
  current_ = {line.ticks, line.ns, fits ? static_cast<uint64_t>(ticks) : 0, ns_per_tick};
}

int64_t ClockFit::to_trace_ns_on_any_line(int64_t ticks) const {
  size_t i = lines_.size() - 1;
  while (i > 0 && ticks < lines_[i].ticks) --i;
  Line const& line = lines_[i];
  int64_t ns =
      line.ns + static_cast<int64_t>(static_cast<double>(ticks - line.ticks) * line.ns_per_tick);
  if (i + 1 < lines_.size())
    ns = std::min(ns, lines_[i + 1].ns);  // rounding must not pass the next line's begin
  return std::max<int64_t>(ns, 0);
}

}  // namespace stepscope::tracer
