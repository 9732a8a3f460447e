#include "tracer/core/flight/recent_memory.h"

#include <algorithm>

namespace stepscope::tracer {

void RecentMemory::add(model::TrackId track, RowBatch const& rows) {
  LiveMemory::for_each_call(
      track, rows, [this](LiveMemory::Allocation const& call) { recent_.push_back(call); });
}

void RecentMemory::forget_before(int64_t ns) {
  if (ns == INT64_MIN) return;  // all of the time is asked for
  // Rows of another track may come this much later than those that began with them.
  constexpr int64_t kMaxWaitNs = 4'000'000'000;
  for (; !recent_.empty() && recent_.front().start_ns < ns; recent_.pop_front())
    before_.add(recent_.front());
  before_.forget_frees_before(ns - kMaxWaitNs);
}

std::vector<LiveMemory::Allocation> RecentMemory::live_at(int64_t ns) const {
  LiveMemory live = before_;
  for (LiveMemory::Allocation const& call : recent_)
    if (call.start_ns < ns) live.add(call);

  std::vector<LiveMemory::Allocation> calls;
  live.for_each([&](LiveMemory::Allocation const& call) { calls.push_back(call); });
  std::stable_sort(calls.begin(), calls.end(),
                   [](auto const& a, auto const& b) { return a.start_ns < b.start_ns; });
  return calls;
}

}  // namespace stepscope::tracer
