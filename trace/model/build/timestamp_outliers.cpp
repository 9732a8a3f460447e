#include "trace/model/build/timestamp_outliers.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "trace/model/build/selected_rows.h"

namespace stepscope::model {
namespace {

/// a + b, the farthest that there is where it lies beyond.
int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

struct Limits {
  int64_t first = 0, last = 0;
  [[nodiscard]] bool has(int64_t start, int64_t dur) const {
    return start >= first && start <= last && sum(start, dur) <= last;
  }
};

/// Samples that lie less than a day from their neighbours.
struct Cluster {
  size_t first = 0, last = 0;  ///< places of the samples
  [[nodiscard]] size_t size() const { return last - first; }
};

constexpr int64_t kDayNs = 86'400'000'000'000, kTimes = 1000;
constexpr size_t kPart = 32;

std::vector<Cluster> clusters_of(std::vector<int64_t> const& samples) {
  std::vector<Cluster> clusters;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i] > sum(samples[i - 1], kDayNs)) clusters.push_back({i, i});
    clusters.back().last = i + 1;
  }
  return clusters;
}

/// The sorted starts of every n-th event.
std::vector<int64_t> sample_starts(std::vector<std::vector<EventBatch>> const& tracks,
                                   size_t count) {
  constexpr size_t kMostSamples = size_t{1} << 16U;
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
  return samples;
}

/// Nothing: no event is far.
std::optional<Limits> limits_of(std::vector<std::vector<EventBatch>> const& tracks) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min(),
          longest = 0;

  size_t count = 0;
  for (auto const& batches : tracks) {
    for (EventBatch const& batch : batches) {
      for (int64_t const start : batch.start) {
        first = std::min(first, start);
        last = std::max(last, start);
      }
      for (int64_t const dur : batch.dur) longest = std::max(longest, dur);
      count += batch.size();
    }
  }
  if (count < kPart || (last / 2 - first / 2 < kDayNs / 2 && longest < kDayNs)) return std::nullopt;

  std::vector<int64_t> const samples = sample_starts(tracks, count);
  std::vector<Cluster> const clusters = clusters_of(samples);

  // Many events at one time have lost theirs: they are no recording, however many they are.
  auto const is_one_time = [&](Cluster const& c) {
    return samples[c.first] == samples[c.last - 1];
  };
  auto const is_recording = [&](Cluster const& c) {
    return c.size() * kPart > samples.size() && !is_one_time(c);
  };

  Limits limits{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  int64_t low = limits.first, high = limits.last;
  for (Cluster const& cluster : clusters) {
    if (!is_recording(cluster)) continue;
    low = std::min(low, samples[cluster.first]);
    high = std::max(high, samples[cluster.last - 1]);
  }

  int64_t beyond = 0;
  if (low > high) return std::nullopt;
  if (__builtin_sub_overflow(high, low, &beyond) || __builtin_mul_overflow(beyond, kTimes, &beyond))
    return std::nullopt;

  beyond = std::max(beyond, kDayNs);
  limits.first = sum(low, -beyond);
  limits.last = sum(high, beyond);
  return limits;
}

}  // namespace

uint64_t leave_out_timestamp_outliers(std::vector<std::vector<EventBatch>>& tracks) {
  auto const limits = limits_of(tracks);
  if (!limits) return 0;

  uint64_t far = 0;
  for (auto& batches : tracks) {
    for (EventBatch& batch : batches) {
      uint64_t count = 0;
      for (size_t row = 0; row < batch.size(); ++row)
        count += limits->has(batch.start[row], batch.dur[row]) ? 0 : 1;

      if (count == 0) continue;
      batch = copy_selected_rows(
          batch, [&](size_t row) { return limits->has(batch.start[row], batch.dur[row]); });
      far += count;
    }
  }

  return far;
}

}  // namespace stepscope::model
