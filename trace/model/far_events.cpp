#include "trace/model/far_events.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "trace/model/keep_rows.h"

namespace stepscope::model {
namespace {

struct Limits {
  int64_t first = 0, last = 0;
  [[nodiscard]] bool has(int64_t start) const { return start >= first && start <= last; }
};

/// Nothing: no event is far.
std::optional<Limits> limits_of(std::vector<std::vector<EventBatch>> const& tracks) {
  constexpr size_t kMostSamples = size_t{1} << 16U;
  constexpr int64_t kDayNs = 86'400'000'000'000, kTimes = 1000;
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  size_t count = 0;
  for (auto const& batches : tracks) {
    for (EventBatch const& batch : batches) {
      for (int64_t const start : batch.start) {
        first = std::min(first, start);
        last = std::max(last, start);
      }
      count += batch.size();
    }
  }
  constexpr size_t kPart = 32;
  if (count < kPart || last / 2 - first / 2 < kDayNs / 2) return std::nullopt;
  size_t const each = (count + kMostSamples - 1) / kMostSamples;
  std::vector<int64_t> samples;
  size_t next = 0;
  for (auto const& batches : tracks) {
    for (EventBatch const& batch : batches) {
      for (; next < batch.size(); next += each) samples.push_back(batch.start[next]);
      next -= batch.size();
    }
  }
  std::sort(samples.begin(), samples.end());
  int64_t const low = samples[samples.size() / kPart], high = samples[samples.size() - 1 - samples.size() / kPart];
  int64_t beyond = 0;
  if (__builtin_sub_overflow(high, low, &beyond) || __builtin_mul_overflow(beyond, kTimes, &beyond)) return std::nullopt;
  beyond = std::max(beyond, kDayNs);
  Limits limits;
  if (__builtin_sub_overflow(low, beyond, &limits.first)) limits.first = std::numeric_limits<int64_t>::min();
  if (__builtin_add_overflow(high, beyond, &limits.last)) limits.last = std::numeric_limits<int64_t>::max();
  return limits;
}

}  // namespace

uint64_t leave_out_far_events(std::vector<std::vector<EventBatch>>& tracks) {
  auto const limits = limits_of(tracks);
  if (!limits) return 0;
  uint64_t far = 0;
  for (auto& batches : tracks) {
    for (EventBatch& batch : batches) {
      auto const count =
          std::count_if(batch.start.begin(), batch.start.end(), [&](int64_t start) { return !limits->has(start); });
      if (count == 0) continue;
      batch = keep_rows(batch, [&](size_t row) { return limits->has(batch.start[row]); });
      far += static_cast<uint64_t>(count);
    }
  }
  return far;
}

}  // namespace stepscope::model
