// Any zoom of any number of events from what a screen needs: sums from cumulative sums, maxima from
// levels of which each is a sixteenth of the one below. Made from a TrackSummary when it is first
// needed; cost of a view: O(bins asked for · log events).
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/summary/track_summary.h"

namespace stepscope::model {

/// What happens in a stretch of time on one track.
struct ViewBin {
  std::array<int64_t, kOpClassCount> busy_ns{};  ///< index = OpClass
  uint32_t starts = 0;
  uint16_t depth = 0;
  int64_t longest_ns = 0;
  StringId longest_name{0};
  double low = 0, high = 0;
};

/// Immutable; read from any thread.
class TrackPyramid {
 public:
  TrackPyramid() = default;
  explicit TrackPyramid(TrackSummary summary);

  [[nodiscard]] TrackSummary const& summary() const { return summary_; }
  /// [begin, end) in `count` stretches of equal length. Sums are exact for stretches that begin and
  /// end with bins, and over all stretches together; a bin that a border cuts is taken as even.
  /// Maxima are over every bin that a stretch touches.
  [[nodiscard]] std::vector<ViewBin> view(int64_t begin, int64_t end, size_t count) const;
  /// Events that start in [begin, end), as view() counts them.
  [[nodiscard]] uint64_t starts(int64_t begin, int64_t end) const;
  /// Width of the widest bin that holds events and touches [begin, end), ns: views finer than that
  /// should look at the events.
  [[nodiscard]] int64_t resolution(int64_t begin, int64_t end) const;

 private:
  /// What is not summed.
  struct Extremes {
    int64_t longest = 0;
    double low = 0, high = 0;
    StringId longest_name{0};
    uint16_t depth = 0;
    bool any_sample = false;
    void add(Extremes const& other);
  };
  [[nodiscard]] size_t bin_at(int64_t time) const;
  [[nodiscard]] int64_t starts_before(size_t bin, int64_t time) const;
  [[nodiscard]] Extremes extremes(size_t first, size_t last) const;

  TrackSummary summary_;
  std::array<std::vector<int64_t>, kOpClassCount>
      busy_before_;  ///< sum over the bins before; one more than bins
  std::vector<uint64_t> starts_before_;
  std::vector<std::vector<Extremes>> levels_;  ///< [0] = bins
};

}  // namespace stepscope::model
