// A run made ready to be drawn, computed once: the tree of tracks in the order of the screen, and per track the sorted columns
// that layout searches. It adds no facts: busy and idle segments are Analysis' gaps and the interval algebra of trace/model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/model/run.h"
#include "viewer/palette.h"
#include "viewer/timeline/fold.h"
#include "viewer/view_state.h"

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
inline constexpr uint32_t kBusyBlock = 16;  ///< rows a block: one sum of 8 B for 16 rows, at most 30 additions a query
/// Deeper nesting is drawn nowhere but counted in Node::hidden: 40 lanes fill a screen.
inline constexpr uint32_t kMaxLanes = 40;

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
  /// The longest of [first, last), which is not empty. Of more than kManyBlocks blocks only whole ones are looked at: less than
  /// kBlock at each end are left out.
  [[nodiscard]] uint32_t longest(uint32_t first, uint32_t last) const;

 private:
  static constexpr uint32_t kManyBlocks = 8;
  struct Longest {
    int64_t length = 0;
    uint32_t index = 0;
  };
  [[nodiscard]] static int64_t length(Segment const& segment) { return add(segment.end, add(~segment.begin, 1)); }

  std::vector<Segment> all_;
  BeginIndex begins_;              ///< view time
  std::vector<Longest> of_block_;  ///< of kBlock segments each
};

/// A value over time: `value[i]` holds from `time[i]` (view time) to the next.
struct Curve {
  std::vector<int64_t> time;
  std::vector<double> value;
  std::vector<double> block_max;  ///< over blocks of kBusyBlock values
  double lowest = 0, highest = 0;
};

enum class NodeKind : uint8_t { kRank, kDevice, kStream, kThread, kCounter, kMemory };

struct Node {
  NodeKind kind = NodeKind::kRank;
  uint32_t rank = 0;               ///< index into Run::ranks
  std::optional<uint32_t> device;  ///< index into Analysis::devices
  uint32_t track = 0;              ///< of a stream, thread or counter
  uint32_t indent = 0;
  uint32_t subtree_end = 0;  ///< index after the last node below this one
  std::string label, note;   ///< printable; the note is drawn dimmed at the right
  std::vector<Lane> lanes;
  Segments segments;    ///< of a device
  Curve curve;          ///< of a counter or of memory
  uint64_t hidden = 0;  ///< events nested deeper than kMaxLanes
  bool bytes = false;   ///< the curve's values are bytes
};

struct Scene {
  model::Run run;
  analyzer::Analysis analysis;
  int64_t origin = 0;  ///< run time of view time 0: the first event
  int64_t length = 1;  ///< ns to the last end, at least 1
  uint64_t events = 0;
  std::vector<Node> nodes;  ///< in preorder
  /// Events that take part in collectives, by (rank, row).
  struct Participation {
    uint32_t rank, row, collective;
  };
  std::vector<Participation> participations;

  [[nodiscard]] model::Trace const& trace(uint32_t rank) const { return run.ranks[rank].trace; }
  /// Run time to view time; wraps instead of overflowing on damaged times.
  [[nodiscard]] int64_t to_view(int64_t run_time) const {
    return static_cast<int64_t>(static_cast<uint64_t>(run_time) - static_cast<uint64_t>(origin));
  }
  /// What to add to a trace time of a rank to have view time.
  [[nodiscard]] int64_t shift(uint32_t rank) const { return to_view(run.ranks[rank].offset_ns); }
  /// View time of an event or a gap.
  [[nodiscard]] model::Interval when(Selection const& selection) const;
  /// The collective in which an event takes part, if it is known.
  [[nodiscard]] analyzer::CollectiveFacts const* collective_of(Selection const& event) const;
  /// The node of a track, if it is drawn.
  [[nodiscard]] std::optional<uint32_t> node_of_track(uint32_t rank, uint32_t track) const;
  [[nodiscard]] std::optional<uint32_t> node_of_device(analyzer::DeviceRef ref) const;
  /// The node where a selection is drawn.
  [[nodiscard]] std::optional<uint32_t> node_of(Selection const& selection) const;
};

/// Takes both; O(events).
Scene make_scene(model::Run run, analyzer::Analysis analysis);
/// The whole run, in a state that shows something useful for runs of any size.
ViewState initial_view(Scene const& scene);

}  // namespace stepscope::viewer
