// Where the time of one thread went: its nested events by name, summed over a range of time. A box
// is a name below a name; its width is the time that was spent in it.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct FlameKey {
  uint32_t node = 0;  ///< of Scene::nodes: a thread or a stream
  TimeWindow range;
  friend bool operator==(FlameKey const&, FlameKey const&) = default;
};

struct FlameGraph {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Box {
    uint32_t name = 0;  ///< StringId of the rank's trace
    model::EventKind kind = model::EventKind::kRange;
    uint32_t parent = kNone;
    uint32_t depth = 0;
    uint64_t count = 0;
    int64_t total_ns = 0, self_ns = 0;  ///< within the range; self: in nothing below it
    int64_t begin_ns = 0;  ///< where the box begins, ns from the left: after its parent's begin and
                           ///< larger siblings
  };
  std::vector<Box> boxes;  ///< a parent before what is below it; siblings by total, descending
  uint32_t depth = 0;
  int64_t total_ns = 0;  ///< of the outermost
  uint64_t events = 0;
  bool is_too_long =
      false;  ///< the range has more events than are read of a run that is not in memory
};
/// From a run that is not in memory at most so many events are read for a graph: a quarter of a
/// gigabyte for a moment.
inline constexpr uint64_t kMostFlameEvents = uint64_t{2} << 20;

/// More boxes than one sees: what is named differently beyond is counted to its parent.
inline constexpr size_t kMaxFlameBoxes = 20'000;

/// O(events of the track in the range). Told to stop, it returns nothing.
FlameGraph flame_graph(Scene const& scene, FlameKey const& key, std::stop_token const& stop = {});

/// The thread whose graph is shown when the person chose none: that of the selection, else the one
/// with most events among those of the device's rank; none without threads.
std::optional<uint32_t> default_thread(Scene const& scene, ViewState const& state);

/// A box where it is drawn, in pixels; those narrower than half a pixel are left out.
struct FlameItem {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  uint32_t box = 0;
};
std::vector<FlameItem> lay_out_flames(FlameGraph const& graph, float width, float row_height);

}  // namespace stepscope::viewer
