#include "trace/model/summary/track_pyramid.h"

#include <algorithm>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::model {
namespace {

constexpr size_t kFanOut = 16;

/// Products of a time and a count or another time.
__extension__ using Wide = __int128;

/// The part of `total` that lies before `time`, when it is spread evenly over [begin, end).
int64_t share_before(int64_t total, int64_t begin, int64_t end, int64_t time) {
  if (time <= begin || total == 0) return 0;
  if (time >= end) return total;
  return static_cast<int64_t>(static_cast<Wide>(total) * (time - begin) / (end - begin));
}

template <class T, class Sum>
void cumulate(std::vector<T> const& values, std::vector<Sum>& before) {
  before.assign(values.size() + 1, 0);
  for (size_t i = 0; i < values.size(); ++i)
    before[i + 1] = before[i] + static_cast<Sum>(values[i]);
}

}  // namespace

void TrackPyramid::Extremes::add(Extremes const& other) {
  depth = std::max(depth, other.depth);
  if (other.longest > longest) {
    longest = other.longest;
    longest_name = other.longest_name;
  }
  if (!other.any_sample) return;
  low = any_sample ? std::min(low, other.low) : other.low;
  high = any_sample ? std::max(high, other.high) : other.high;
  any_sample = true;
}

TrackPyramid::TrackPyramid(TrackSummary summary) : summary_(std::move(summary)) {
  for (size_t c = 0; c < kOpClassCount; ++c) cumulate(summary_.busy[c], busy_before_[c]);
  cumulate(summary_.starts, starts_before_);
  std::vector<Extremes> level(summary_.size());
  for (size_t i = 0; i < level.size(); ++i) {
    level[i] = {summary_.longest[i],      summary_.low[i],   summary_.high[i],
                summary_.longest_name[i], summary_.depth[i], summary_.starts[i] > 0};
  }
  while (level.size() > 1) {
    std::vector<Extremes> above((level.size() + kFanOut - 1) / kFanOut);
    for (size_t i = 0; i < level.size(); ++i) above[i / kFanOut].add(level[i]);
    levels_.push_back(std::exchange(level, std::move(above)));
  }
  levels_.push_back(std::move(level));
}

/// The bin that holds `time`: 0 before the first, size() behind the last.
size_t TrackPyramid::bin_at(int64_t time) const {
  if (time >= summary_.end) return summary_.size();
  auto const after = std::upper_bound(summary_.begin.begin(), summary_.begin.end(), time);
  return after == summary_.begin.begin() ? 0
                                         : static_cast<size_t>(after - summary_.begin.begin()) - 1;
}

TrackPyramid::Extremes TrackPyramid::extremes(size_t first, size_t last) const {
  Extremes result;
  for (size_t level = 0; first < last; ++level) {
    // The ends that do not fill a node of the next level are taken here.
    auto const& nodes = levels_[level];
    while (first < last && first % kFanOut != 0) result.add(nodes[first++]);
    while (first < last && last % kFanOut != 0) result.add(nodes[--last]);
    first /= kFanOut;
    last /= kFanOut;
  }
  return result;
}

/// `bin`: bin_at(time).
int64_t TrackPyramid::starts_before(size_t bin, int64_t time) const {
  auto const before = static_cast<int64_t>(starts_before_[bin]);
  if (bin == summary_.size()) return before;
  return before +
         share_before(summary_.starts[bin], summary_.begin[bin], summary_.bin_end(bin), time);
}

uint64_t TrackPyramid::starts(int64_t begin, int64_t end) const {
  STEPSCOPE_CHECK(begin <= end);
  if (summary_.size() == 0) return 0;
  return static_cast<uint64_t>(starts_before(bin_at(end), end) -
                               starts_before(bin_at(begin), begin));
}

std::vector<ViewBin> TrackPyramid::view(int64_t begin, int64_t end, size_t count) const {
  STEPSCOPE_CHECK(begin <= end);
  std::vector<ViewBin> bins(count);
  if (summary_.size() == 0 || count == 0) return bins;
  struct Border {
    size_t bin;
    std::array<int64_t, kOpClassCount> busy;
    int64_t starts;
    int64_t time;
  };
  auto const border_at = [&](size_t i) {
    auto const time =
        static_cast<int64_t>(begin + static_cast<Wide>(end - begin) * static_cast<int64_t>(i) /
                                         static_cast<int64_t>(count));
    Border border{bin_at(time), {}, 0, time};
    size_t const bin = border.bin;
    auto const share = [&](int64_t total) {
      return bin < summary_.size()
                 ? share_before(total, summary_.begin[bin], summary_.bin_end(bin), time)
                 : 0;
    };
    for (size_t c = 0; c < kOpClassCount; ++c)
      border.busy[c] =
          busy_before_[c][bin] + share(bin < summary_.size() ? summary_.busy[c][bin] : 0);
    border.starts = starts_before(bin, time);
    return border;
  };
  Border left = border_at(0);
  for (size_t i = 0; i < count; ++i) {
    Border const right = border_at(i + 1);
    ViewBin& view_bin = bins[i];
    for (size_t c = 0; c < kOpClassCount; ++c) view_bin.busy_ns[c] = right.busy[c] - left.busy[c];
    view_bin.starts =
        static_cast<uint32_t>(std::min<int64_t>(right.starts - left.starts, UINT32_MAX));
    bool const cuts_last = right.bin < summary_.size() && right.time > summary_.begin[right.bin];
    bool const before_first = right.time <= summary_.begin.front();
    Extremes const found =
        before_first ? Extremes{} : extremes(left.bin, right.bin + (cuts_last ? 1 : 0));
    view_bin.depth = found.depth;
    view_bin.longest_ns = found.longest;
    view_bin.longest_name = found.longest_name;
    view_bin.low = found.low;
    view_bin.high = found.high;
    left = right;
  }
  return bins;
}

int64_t TrackPyramid::resolution(int64_t begin, int64_t end) const {
  int64_t widest = 0;
  for (size_t bin = bin_at(begin); bin < summary_.size() && summary_.begin[bin] < end; ++bin)
    if (summary_.starts[bin] > 0)
      widest = std::max(widest, summary_.bin_end(bin) - summary_.begin[bin]);
  return widest;
}

}  // namespace stepscope::model
