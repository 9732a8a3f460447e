#include "analyzer/live/live_means.h"

#include <cstdlib>
#include <functional>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {

using stream::kTimeParts;
using stream::StepRecord;

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Spread spread_of(std::vector<int64_t>& values) {
  int64_t const median = lower_median(values);
  for (int64_t& value : values) value = std::abs(value - median);
  return {median, lower_median(values)};
}

LiveMeans means_of(std::deque<StepRecord> const& records, size_t most) {
  LiveMeans means;
  std::vector<int64_t> lengths;
  int64_t steps = 0;
  auto const first = records.end() - static_cast<ptrdiff_t>(std::min(most, records.size()));
  for (auto record = first; record != records.end(); ++record) {
    lengths.push_back(record->length_ns / record->steps);
    steps += record->steps;
    for (size_t i = 0; i < kTimeParts; ++i) means.parts[i] += record->parts[i];
    means.comm_ns += record->comm_ns;
    means.input_ns += record->input_ns;
  }
  if (steps == 0) return means;

  for (int64_t& part : means.parts) part /= steps;
  means.comm_ns /= steps;
  means.input_ns /= steps;
  Spread const spread = spread_of(lengths);
  means.typical_ns = spread.median;
  means.spread_ns = spread.distance;
  return means;
}

int64_t typical_part(std::deque<StepRecord> const& records, stream::TimePart part) {
  std::vector<int64_t> values;
  for (auto record = records.rbegin(); record != records.rend() && values.size() < kLiveBlock;
       ++record)
    values.push_back(record->part(part) / record->steps);
  return values.empty() ? 0 : lower_median(values);
}

BlockPeaks peaks_of(std::deque<StepRecord> const& records, int64_t StepRecord::*bytes) {
  BlockPeaks peaks;

  for (size_t end = records.size(); end >= kLiveBlock; end -= kLiveBlock) {
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = end - kLiveBlock; i < end; ++i) {
      least = std::min(least, records[i].*bytes);
      most = std::max(most, records[i].*bytes);
    }
    peaks.least.insert(peaks.least.begin(), least);
    peaks.most.insert(peaks.most.begin(), most);
  }
  return peaks;
}

bool rises(std::vector<int64_t> const& blocks, size_t last) {
  if (blocks.size() < last) return false;
  auto const first = blocks.end() - static_cast<ptrdiff_t>(last);
  return std::adjacent_find(first, blocks.end(), std::greater_equal<>()) == blocks.end();
}

int64_t LiveMeans::length_ns() const {
  int64_t sum = 0;
  for (int64_t const part : parts) sum += part;
  return sum;
}
}  // namespace stepscope::analyzer
