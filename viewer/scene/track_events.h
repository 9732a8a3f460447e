// The events of tracks as layout searches them: lanes of disjoint events, a device's time in
// pieces, values over time. Made of a trace: that of a process, or what was read of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/intervals.h"
#include "trace/model/kinds.h"
#include "trace/model/trace.h"
#include "viewer/scene/fold.h"
#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

/// Time of damaged traces wraps instead of overflowing.
[[nodiscard]] inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// Events of one track and nesting depth: disjoint, so both starts and ends are sorted.
struct Lane {
  std::vector<uint32_t> rows;        ///< of the trace, by start
  BeginIndex begins;                 ///< of the rows, trace time
  std::vector<int64_t> busy_before;  ///< Σ dur of the rows before each block of kBusyBlock rows
};
inline constexpr uint32_t kBusyBlock =
    16;  ///< rows a block: one sum of 8 B for 16 rows, at most 30 additions a query
/// Deeper nesting is drawn nowhere but counted in Node::hidden: 40 lanes fill a screen.
inline constexpr uint32_t kMaxLanes = 40;

/// `hidden`: grows by the events nested deeper than kMaxLanes. O(events of the track).
std::vector<Lane> make_lanes(model::Trace const& trace, uint32_t track, uint64_t& hidden);

/// Adds a row that begins where the last one ended or later. `busy`: Σ dur of the rows before, then
/// of this one too.
void append(Lane& lane, model::Trace::Columns const& columns, uint32_t row, int64_t& busy);

/// A piece of a device's time: busy with a class, or idle by a cause. View time.
struct Segment {
  int64_t begin = 0, end = 0;
  Paint paint = Paint::kCompute;
  std::optional<uint32_t> gap;  ///< index into Analysis::gaps when idle
};

/// The segments of a device by time, with what finds the longest of many without looking at each.
class Segments {
 public:
  static constexpr uint32_t kBlock = 16;

  Segments() = default;
  /// `sorted`: by time, disjoint.
  explicit Segments(std::vector<Segment> sorted);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(all_.size()); }
  [[nodiscard]] Segment const& operator[](size_t i) const { return all_[i]; }
  [[nodiscard]] Segment const& front() const { return all_.front(); }
  [[nodiscard]] Segment const& back() const { return all_.back(); }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  [[nodiscard]] BeginIndex const& begins() const { return begins_; }
  /// The longest of [first, last), which is not empty. A range of more than kManyBlocks blocks is
  /// searched in whole blocks only: less than kBlock at each end are left out.
  [[nodiscard]] uint32_t longest(uint32_t first, uint32_t last) const;

 private:
  static constexpr uint32_t kManyBlocks = 8;
  struct Longest {
    int64_t length = 0;
    uint32_t index = 0;
  };
  [[nodiscard]] static int64_t length(Segment const& segment) {
    return add(segment.end, add(~segment.begin, 1));
  }

  std::vector<Segment> all_;
  BeginIndex begins_;              ///< view time
  std::vector<Longest> of_block_;  ///< of kBlock segments each
};

/// What lies idle in a device: the analysis' gaps of it.
struct GapsOfDevice {
  analyzer::DeviceGaps const* gaps = nullptr;  ///< null: none are known
  size_t first = 0;                            ///< index of the first in Analysis::gaps
};

/// The busy time of a device by class, disjoint: compute, then communication that no compute hides,
/// then copies that neither hides.
struct BusyTime {
  model::IntervalSet compute, exposed_comm, exposed_copy;
};

/// Collects the ops of a device, in any order.
class BusyTimeBuilder {
 public:
  void add(model::OpClass op, model::Interval when);
  [[nodiscard]] BusyTime finish() &&;

 private:
  std::vector<model::Interval> compute_, communication_, copy_;
};

/// An exact breakdown of the device's time: compute, exposed communication, exposed copies, and the
/// idle gaps that touch `window` (run time).
/// Its streams are `tracks`; `shift` leads from
/// trace time to view time, and `origin` is the run time of view time 0.
std::vector<Segment> device_segments(model::Trace const& trace, std::span<uint32_t const> tracks,
                                     int64_t shift, int64_t origin, GapsOfDevice gaps,
                                     analyzer::Interval window);

/// A value over time: `value[i]` holds from `time[i]` (view time) to the next.
struct Curve {
  std::vector<int64_t> time;
  std::vector<double> value;
  std::vector<double> block_max;   ///< over blocks of kBusyBlock values
  double lowest = 0, highest = 0;  ///< of the values and 0: the row's scale
  /// The least and the most of the values; none where they are not in memory.
  std::optional<std::pair<double, double>> range;
};

/// Fills in what follows from the values.
void finish_curve(Curve& curve);
/// Where the first of the highest values of [first, last) is, which is not empty. O(values /
/// kBusyBlock).
uint32_t highest_place(Curve const& curve, uint32_t first, uint32_t last);
/// The samples of a track.
Curve sample_curve(model::Trace const& trace, uint32_t track, int64_t shift);

}  // namespace stepscope::viewer
