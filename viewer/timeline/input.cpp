#include "viewer/timeline/input.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "viewer/scene/shown_rows.h"
#include "viewer/scene/view_moves.h"
#include "viewer/timeline/track_drag.h"

namespace stepscope::viewer {
namespace {

constexpr double kWheelZoom = 0.80;        ///< a notch shows four fifths
constexpr double kKeyZoom = 4;             ///< factor a second while W or S is held
constexpr double kKeyPan = 1.2;            ///< windows a second while A or D is held
constexpr float kKeyRows = 24;             ///< lanes a second while up or down is held
constexpr float kWheelRows = 3;            ///< lanes a notch
constexpr float kLongestFrame = 0.1F;      ///< seconds: after a stall the view does not leap
constexpr double kDensityZoom = 1.0 / 24;  ///< a double click on a folded mark

void scroll_by(ViewState& state, Layout const& layout, float pixels) {
  float const scale = layout.viewport.scale;
  float const last = std::max((layout.content_height - layout.viewport.height) / scale, 0.0F);
  state.scroll = std::clamp(state.scroll + pixels / scale, 0.0F, last);
}

std::optional<Selection> selection_at(Scene const& scene, Layout const& layout, Hit const& hit) {
  if (!hit.item) return std::nullopt;
  Item const& item = layout.items[*hit.item];
  Node const& node = scene.nodes[item.node];
  Row const& row = layout.rows[hit.row];
  if (item.kind == ItemKind::kSegment) {
    auto const gap = item.gap_index();
    return gap ? std::optional(Selection{Selection::What::kGap, node.rank, *gap}) : std::nullopt;
  }

  // A mark from a summary stands for events that were not read: none of them can be selected.
  if (!row.has_events()) return std::nullopt;
  return scene.selection_of(node.rank, row.trace(), item.index);
}

void click(TimelineInput const& input, Scene const& scene, Layout const& layout, ViewState& state) {
  auto const hit = hit_test(layout, input.x, input.y);
  if (!hit) {
    state.selection.reset();
    return;
  }

  uint32_t const index = layout.rows[hit->row].node;
  Node const& node = scene.nodes[index];
  if (node.device) state.device = *node.device;
  bool const group = node.subtree_end > index + 1;

  if (input.x < 0 && layout.rows[hit->row].pinned) {
    // From the row at the top to the same one among its neighbours.
    reveal(state, scene, index, layout.viewport.height / layout.viewport.scale);
    return;
  }
  if (input.x < 0) {
    if (!group) return;
    toggle_open(state, index);
    return;
  }

  auto const chosen = selection_at(scene, layout, *hit);
  if (chosen) {
    select(state, scene, *chosen);
  } else {
    state.selection.reset();
  }
}

void double_click(TimelineInput const& input, Scene const& scene, Layout const& layout,
                  ViewState& state) {
  auto const hit = hit_test(layout, input.x, input.y);
  if (input.x < 0 || !hit) return;

  if (hit->item &&
      (layout.items[*hit->item].count > 1 || layout.items[*hit->item].kind == ItemKind::kDensity)) {
    remember(state);
    zoom(state, scene, kDensityZoom, static_cast<double>(input.x / layout.viewport.width));
    return;
  }

  if (auto const chosen = selection_at(scene, layout, *hit)) {
    select(state, scene, *chosen);
    frame(state, scene, scene.when(*chosen));
  }
}

void drag(TimelineInput const& input, Scene const& scene, Layout const& layout, ViewState& state) {
  double const now = layout.time_at(std::clamp(input.x, 0.0F, layout.viewport.width));

  if (state.drag.mode == Drag::Mode::kRange) {
    state.range = TimeWindow{std::min(state.drag.anchor, now), std::max(state.drag.anchor, now)};
  } else if (state.drag.mode == Drag::Mode::kPan) {
    pan(state, scene, static_cast<double>(-input.dx / layout.viewport.width));
    scroll_by(state, layout, -input.dy);
  } else if (state.drag.mode == Drag::Mode::kTrack) {
    state.drag.is_moving = true;
    state.drag.y = input.y;
    scroll_by(state, layout,
              drag_scroll(state.drag, layout, std::min(input.seconds, kLongestFrame)));
  }
}

/// The button goes down.
void press(TimelineInput const& input, Layout const& layout, ViewState& state) {
  state.drag = {};
  if (auto const name =
          input.x < 0 && input.y >= 0 ? hit_test(layout, input.x, input.y) : std::nullopt) {
    state.drag.mode = Drag::Mode::kTrack;
    state.drag.node = layout.rows[name->row].node;
    state.drag.pinned = layout.rows[name->row].pinned;
    state.drag.y = input.y;
    return;
  }

  bool const range = input.x >= 0 && (input.shift || input.y < 0);
  state.drag.mode = range ? Drag::Mode::kRange : Drag::Mode::kPan;
  state.drag.anchor = layout.time_at(std::max(input.x, 0.0F));
  if (!range) remember(state);
}

/// The button comes up.
void release(TimelineInput const& input, Scene const& scene, Layout const& layout,
             ViewState& state) {
  Drag::Mode const mode = state.drag.mode;
  if (input.dragging && mode == Drag::Mode::kTrack) drop_track(state, scene, layout);
  if (!input.dragging && mode == Drag::Mode::kRange) state.range.reset();
  if (!input.dragging && (mode == Drag::Mode::kPan || mode == Drag::Mode::kTrack))
    click(input, scene, layout, state);
  state.drag = {};
}

/// The first event of a row behind `after`, or the last before it; marks of several do not count.
/// In order of begin; of two that begin together the longer one is the first.
std::optional<Selection> next_event(Scene const& scene, Layout const& layout, Row const& row,
                                    std::optional<model::Interval> after, int direction) {
  auto const is_before = [](model::Interval a, model::Interval b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  };
  std::optional<Selection> next;
  model::Interval when_next;

  for (uint32_t i = row.first_item; i < row.last_item; ++i) {
    Item const& item = layout.items[i];
    if (item.kind != ItemKind::kEvent) continue;
    Selection const event = scene.selection_of(scene.nodes[row.node].rank, row.trace(), item.index);
    model::Interval const when = scene.when(event);

    auto const comes_first = [&](model::Interval a, model::Interval b) {
      return direction > 0 ? is_before(a, b) : is_before(b, a);
    };
    if (after && !comes_first(*after, when)) continue;
    if (next && !comes_first(when, when_next)) continue;
    next = event;
    when_next = when;
  }
  return next;
}

/// Selects the event behind the selected one on its track, or that before it. Where it is not seen
/// the view moves on. Without a selection it is the first that is seen.
void step_event(int direction, Scene const& scene, Layout const& layout, ViewState& state) {
  bool const has_event = state.selection && state.selection->what == Selection::What::kEvent;
  auto const track = has_event ? scene.node_of(*state.selection) : std::nullopt;
  if (has_event && !track) return;

  bool is_shown = false;
  for (Row const& row : layout.rows) {
    if (track && row.node != *track) continue;
    is_shown = true;
    if (!row.has_events()) continue;

    auto const after = has_event ? std::optional(scene.when(*state.selection)) : std::nullopt;
    auto const next = next_event(scene, layout, row, after, has_event ? direction : 1);
    if (next) return select(state, scene, *next);
  }
  if (!track) return;
  if (is_shown) return pan(state, scene, direction * 0.5);
  reveal(state, scene, *track, layout.viewport.height / layout.viewport.scale);
}

void wheel(TimelineInput const& input, Scene const& scene, Layout const& layout, ViewState& state) {
  if (input.wheel_x != 0) pan(state, scene, static_cast<double>(-input.wheel_x) * 0.08);
  if (input.wheel == 0) return;

  if (input.ctrl || input.x < 0) {
    scroll_by(state, layout, -input.wheel * kWheelRows * kLaneHeight * layout.viewport.scale);
  } else if (input.shift) {
    pan(state, scene, static_cast<double>(-input.wheel) * 0.08);
  } else {
    zoom(state, scene, std::pow(kWheelZoom, static_cast<double>(input.wheel)),
         static_cast<double>(input.x / layout.viewport.width));
  }
}

}  // namespace

bool apply_input(TimelineInput const& input, Scene const& scene, Layout const& layout,
                 ViewState& state) {
  if (layout.viewport.width < 1) return false;
  scroll_by(state, layout, 0);

  bool const wheeled = input.hovered && (input.wheel != 0 || input.wheel_x != 0);
  if (wheeled || input.zoom != 0 || input.pan != 0) remember_if_distant(state);
  if (wheeled) wheel(input, scene, layout, state);

  double const anchor =
      input.hovered && input.x >= 0 ? static_cast<double>(input.x / layout.viewport.width) : 0.5;
  auto const seconds = static_cast<double>(std::min(input.seconds, kLongestFrame));
  if (input.zoom != 0)
    zoom(state, scene, std::pow(kKeyZoom, -static_cast<double>(input.zoom) * seconds), anchor);
  if (input.pan != 0) pan(state, scene, static_cast<double>(input.pan) * kKeyPan * seconds);
  if (input.scroll != 0)
    scroll_by(state, layout,
              input.scroll * kKeyRows * kLaneHeight * layout.viewport.scale *
                  static_cast<float>(seconds));

  if (input.step != 0) step_event(input.step, scene, layout, state);

  if (input.pressed && input.hovered) press(input, layout, state);
  if (input.double_clicked && input.hovered) {
    double_click(input, scene, layout, state);
    // The view has moved: the button's release must not select what is under the mouse now.
    state.drag = {};
  }
  if (input.dragging) drag(input, scene, layout, state);
  if (input.released) release(input, scene, layout, state);

  return wheeled || input.zoom != 0 || input.pan != 0 || input.scroll != 0 || input.step != 0 ||
         input.pressed || input.released || input.dragging;
}

}  // namespace stepscope::viewer
