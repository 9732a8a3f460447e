// Where everything of the timeline is on the screen: a pure function of the scene, the view state
// and the size. Costs O(rows + visible lanes × pixels × log events), whatever the number of events.
// Events thinner than a pixel are folded into one mark a pixel with its count and its share of busy
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viewer/comparison/change_mark.h"
#include "viewer/event_store/event_store.h"
#include "viewer/queries/ghost_tracks.h"
#include "viewer/queries/path_line.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

struct Viewport {
  float width = 0, height = 0;  ///< of the area of the rows, without gutter and ruler
  float scale = 1;              ///< physical pixels a logical one
};

enum class ItemKind : uint8_t {
  kEvent,    ///< one event
  kDensity,  ///< `count` events that are thinner than a pixel
  kSegment   ///< a piece of the device's time, `count` of them when folded
};

/// A rectangle, x in [0, width], y relative to the area's top.
struct Item {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  ItemKind kind = ItemKind::kEvent;
  Paint paint = Paint::kRange;
  uint8_t shade = 1;
  bool idle = false;   ///< of a segment
  bool faded = false;  ///< there is a search, and it does not look for this
  float fill = 1;      ///< share of the mark's time that is covered, 0–1
  uint32_t index = 0;  ///< row of the (first) event in its trace, or index into the row's segments
  uint32_t count = 1;  ///< events that start in the mark, for an out-of-core run
  uint32_t node = 0;   ///< of Scene::nodes: whose event or segment it is; of a closed rank's row
                       ///< that of one of its devices
  ChangeMark change = ChangeMark::kNone;  ///< against another run: instead of `paint`

  uint32_t gap = StripPiece::kNoGap;  ///< index into Analysis::gaps of a segment that is idle and
                                      ///< analyzed

  [[nodiscard]] std::optional<uint32_t> gap_index() const {
    return gap != StripPiece::kNoGap ? std::optional(gap) : std::nullopt;
  }
};

/// One pixel of a curve, y of the lowest and highest value in it.
struct CurvePoint {
  float x = 0, low = 0, high = 0;
};

/// A line of the tree that can be seen. Its items and points are ranges of Layout's vectors.
struct Row {
  uint32_t node = 0;
  float y0 = 0, y1 = 0;
  bool open = true;
  bool pinned = false;  ///< one of those at the top, a second time the row of its node
  uint32_t first_item = 0, last_item = 0;
  uint32_t first_point = 0, last_point = 0;
  RowEvents events;

  /// Whether its events are in memory: else its items are marks from summaries.
  [[nodiscard]] bool has_events() const { return events.trace != nullptr; }
  /// The trace of its events, where it has them.
  [[nodiscard]] model::Trace const& trace() const { return *events.trace; }
};

struct StepLine {
  float x = 0, y0 = 0, y1 = 0;
  int64_t step = 0;
  bool pinned = false;  ///< over pinned rows
};

struct Tick {
  float x = 0;
  std::string label;
};

/// From the end of a launch call to the start of its device op, or between participants of a
/// collective.
struct Arrow {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// A piece of the critical path on its row, or `count` of them in one pixel. It is as high as the
/// events of its lane, a thin one as its row. Where its row is scrolled out of view, y0 and y1 are
/// the edge behind which it is.
struct PathItem {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  uint32_t piece = 0;  ///< index into PathLine::pieces: the longest of them
  uint32_t count = 1;
  bool is_thin = false;  ///< lines between many of these would hide what is below
  [[nodiscard]] bool is_out_of_view() const { return y0 == y1; }
};

/// A predicted event under its row, or `count` of them that begin in one pixel.
struct GhostItem {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  uint32_t row = 0;    ///< index into Layout::rows
  uint32_t index = 0;  ///< of the (first) event in the row's GhostTrack
  uint32_t count = 1;
  Paint paint = Paint::kRange;
  uint8_t shade = 1;
  float fill = 1;  ///< share of the mark's time that is covered, 0–1
};

/// Where a predicted step begins, over the ghost tracks of its device.
struct GhostStepLine {
  float x = 0, y0 = 0, y1 = 0;
  bool pinned = false;
};

struct Layout {
  Viewport viewport;
  TimeWindow window;
  float content_height = 0;  ///< of all rows, for the scroll bar
  float pinned_height = 0;   ///< of the pinned rows: what scrolls is seen below
  bool by_change = false;    ///< items have a ChangeMark: nothing else has colours
  std::vector<Row> rows;     ///< from top to bottom, the pinned ones first
  std::vector<Item> items;
  std::vector<CurvePoint> points;
  std::vector<StepLine> steps;
  std::vector<Tick> ticks;
  std::vector<Item> related;  ///< the selection and what belongs to it: outlined
  std::vector<Arrow> arrows;
  std::vector<Item> marks;     ///< what was searched for, in folded marks: a pixel wide
  std::vector<PathItem> path;  ///< from left to right
  std::vector<Item> evidence;  ///< places of the finding in focus; `index` = which
  std::optional<uint32_t>
      cause;  ///< index into rows: has the device that makes those of the evidence wait
  std::vector<GhostItem> ghosts;  ///< row by row, from left to right
  std::vector<GhostStepLine> ghost_steps;

  /// Where on the screen what scrolls, or what is pinned, begins.
  [[nodiscard]] float top_of(bool pinned) const { return pinned ? 0 : pinned_height; }
  [[nodiscard]] float x_of(double view_time) const {
    return static_cast<float>((view_time - window.begin) / window.span() *
                              static_cast<double>(viewport.width));
  }
  [[nodiscard]] double time_at(float x) const {
    return window.begin +
           static_cast<double>(x) / static_cast<double>(viewport.width) * window.span();
  }
};

/// `path`: drawn over the rows if there is one. `ghosts`: drawn under the rows of
/// WhatIfView::nodes.
Layout lay_out(Scene const& scene, ViewState const& state, Viewport viewport,
               PathLine const* path = nullptr, GhostTracks const* ghosts = nullptr);
/// Where the ghost track of a row lies: top and bottom of its bars.
std::pair<float, float> ghost_extent(Row const& row, float scale);

/// What lies under a point of the area.
struct Hit {
  uint32_t row = 0;              ///< index into Layout::rows
  std::optional<uint32_t> item;  ///< index into Layout::items
};
std::optional<Hit> hit_test(Layout const& layout, float x, float y);
/// The predicted event under a point; null: the point hits no event.
GhostItem const* ghost_at(Layout const& layout, float x, float y);

}  // namespace stepscope::viewer
