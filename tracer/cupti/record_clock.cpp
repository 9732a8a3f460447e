#include "tracer/cupti/record_clock.h"

#include <cstdlib>

namespace stepscope::tracer {

RecordClock::RecordClock(int64_t origin_monotonic_ns, ClockSample first)
    : origin_ns_(origin_monotonic_ns) {
  eras_.reserve(kMaxEras);
  begin_era(first);
}

void RecordClock::begin_era(ClockSample sample) {
  if (eras_.size() == kMaxEras) eras_.erase(eras_.begin());
  eras_.push_back({ClockFit(sample), sample.ticks, sample.monotonic_ns - origin_ns_});
}

void RecordClock::add(ClockSample sample) {
  if (eras_.empty()) return;
  Era& era = eras_.back();
  int64_t const since_last = sample.ticks - era.fit.latest_ticks();
  int64_t const expected_ns = era.first_ns + era.fit.latest_ns() + since_last;
  if (std::abs(sample.monotonic_ns - origin_ns_ - expected_ns) > kStepNs)
    begin_era(sample);
  else if (since_last >= kSpacingNs)
    era.fit.add(sample);
}

int64_t RecordClock::convert(int64_t ticks) const {
  for (auto era = eras_.rbegin(); era != eras_.rend(); ++era) {
    if (ticks >= era->first_ticks && ticks <= era->fit.latest_ticks() + kMarginNs)
      return era->first_ns + era->fit.to_trace_ns(ticks);
  }
  // Of no era that there was: left for is_possible() to see.
  Era const& newest = eras_.back();
  return static_cast<int64_t>(static_cast<uint64_t>(ticks) -
                              static_cast<uint64_t>(newest.first_ticks) +
                              static_cast<uint64_t>(newest.first_ns));
}

}  // namespace stepscope::tracer
