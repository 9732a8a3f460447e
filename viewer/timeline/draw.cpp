#include "viewer/timeline/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/comparison/change_marks.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Bars narrower than this carry no text, in pixels at scale 1.
constexpr float kMinLabelWidth = 34;
/// What a search does not look for keeps this share of its opacity.
constexpr float kFaded = 0.22F;
/// The solid part of an idle bar, as a share of its height.
constexpr float kIdleFoot = 0.3F;
/// And the opacity of the rest of a bar that only one of two compared runs has.
constexpr float kOneSided = 0.35F;

float text_top(float y0, float y1) { return std::round((y0 + y1 - ImGui::GetFontSize()) / 2); }

/// What stands in an event's bar of this width. A step says its number, whole or not at all.
std::string bar_label(model::Trace const& trace, uint32_t row, float width) {
  std::string const name = printable_name(short_name(trace.name(row)), 160);
  if (trace.kind(row) != model::EventKind::kStep) return fit_bar(name, width);
  std::string const number = fmt::format("{}", trace.detail<model::StepDetail>(row).index);
  bool const numbered =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  for (std::string const& label : {numbered ? name : fmt::format("{} {}", name, number), number})
    if (ImGui::CalcTextSize(label.c_str()).x <= width) return label;
  return {};
}

void draw_item(ImDrawList& list, ViewState const& state, Row const& row, Item const& item,
               Canvas canvas) {
  float const x0 = canvas.origin.x + std::floor(item.x0);
  float x1 = canvas.origin.x + std::floor(item.x1);
  float const width = x1 - x0;
  // A pixel between neighbours, where there is room for it.
  if (item.kind == ItemKind::kEvent && width >= 4) x1 -= 1;
  x1 = std::max(x1, x0 + 1);
  float const y0 = canvas.origin.y + item.y0;
  float const y1 = canvas.origin.y + item.y1;

  bool const by_class = item.change == ChangeMark::kNone;
  uint32_t colour = by_class ? paint_colour(item.paint, state.theme, item.shade)
                             : mark_colour(item.change, state.theme);
  // Even the emptiest mark is seen.
  float alpha = item.kind == ItemKind::kDensity ? 0.30F + 0.70F * item.fill : 1;
  if (item.faded) alpha *= kFaded;
  colour = with_alpha(colour, alpha);
  if (by_class) {
    list.AddRectFilled(ImVec2(x0, y0), ImVec2(x1, y1), colour);
  } else {
    mark_rectangle(list, ImVec2(x0, y0), ImVec2(x1, y1), item.change, state.theme, alpha);
  }

  if (item.kind != ItemKind::kEvent || width < kMinLabelWidth * canvas.scale) return;
  auto const& trace = row.trace();
  float const pad = 4 * canvas.scale;
  uint32_t const on_bar = is_of_one_side(item.change) ? surface(state.theme).text : text_on(colour);
  draw_text(list, ImVec2(x0 + pad, text_top(y0, y1)),
            item.faded ? surface(state.theme).text_dim : on_bar,
            bar_label(trace, item.index, x1 - x0 - 2 * pad));
}

void draw_curve(ImDrawList& list, Scene const& scene, ViewState const& state, Layout const& layout,
                Row const& row, Canvas canvas) {
  if (row.first_point == row.last_point) return;

  bool const memory = scene.nodes[row.node].kind == NodeKind::kMemory;
  uint32_t colour = paint_colour(memory ? Paint::kAllocation : Paint::kCompute, state.theme);
  if (layout.by_change) colour = surface(state.theme).text_dim;
  float const bottom = canvas.origin.y + row.y1 - 2 * canvas.scale;
  for (uint32_t i = row.first_point; i < row.last_point; ++i) {
    CurvePoint const& point = layout.points[i];
    float const x = canvas.origin.x + point.x;
    float const top = canvas.origin.y + point.high;
    list.AddRectFilled(ImVec2(x, top), ImVec2(x + 1, bottom), with_alpha(colour, 0.30F));
    float const previous = i > row.first_point ? canvas.origin.y + layout.points[i - 1].low : top;
    list.AddRectFilled(ImVec2(x, std::min(top, previous)),
                       ImVec2(x + 1, std::max({top, previous, top + 1.5F * canvas.scale})), colour);
  }
}

/// Busy time is a solid bar; idle time is pale with a solid foot, so that they differ without
/// colour, and says its cause where there is room.
void draw_segment(ImDrawList& list, ViewState const& state, Item const& item, Canvas canvas) {
  float const x0 = canvas.origin.x + std::floor(item.x0);
  float const x1 = std::max(canvas.origin.x + std::floor(item.x1), x0 + 1);
  float const y0 = canvas.origin.y + item.y0;
  float const y1 = canvas.origin.y + item.y1;
  uint32_t const colour = item.change == ChangeMark::kNone ? paint_colour(item.paint, state.theme)
                                                           : mark_colour(item.change, state.theme);

  if (!item.idle) {
    list.AddRectFilled(ImVec2(x0, y0), ImVec2(x1, y1), colour);
  } else {
    list.AddRectFilled(ImVec2(x0, y0), ImVec2(x1, y1), with_alpha(colour, 0.20F));
    ImVec2 const foot(x0, y1 - std::round((y1 - y0) * kIdleFoot));
    if (item.change == ChangeMark::kNone)
      draw_part(list, foot, ImVec2(x1, y1), item.paint, state.theme);
    else
      list.AddRectFilled(foot, ImVec2(x1, y1), colour);
  }

  if (item.count != 1 || item.paint == Paint::kCompute ||
      x1 - x0 < 2 * kMinLabelWidth * canvas.scale)
    return;
  float const pad = 4 * canvas.scale;
  float const bottom = item.idle ? y1 - std::round((y1 - y0) * kIdleFoot) : y1;
  draw_text(list, ImVec2(x0 + pad, text_top(y0, bottom)),
            item.idle ? surface(state.theme).text : text_on(colour),
            fit(paint_name(item.paint), x1 - x0 - 2 * pad));
}

/// The step lines of one row.
using StepLines = std::span<StepLine const>;

/// Every which step has its number drawn so that `width` and a margin fit between them: 1, 2, 5,
/// 10, 20 … `gap`: pixels between lines.
int64_t number_stride(float gap, float width, float margin) {
  constexpr int64_t kMost = 1'000'000;
  int64_t every = 1;
  for (int round = 0; static_cast<float>(every) * gap - margin < width && every < kMost; ++round)
    every = round % 3 == 1 ? every / 2 * 5 : every * 2;
  return every;
}

void draw_numbers_of_row(ImDrawList& list, StepLines lines, Row const& row, ViewState const& state,
                         Layout const& layout, Canvas canvas) {
  float const margin = 8 * canvas.scale;
  float const gap = lines.size() > 1
                        ? (lines.back().x - lines.front().x) / static_cast<float>(lines.size() - 1)
                        : layout.viewport.width;
  std::string const widest = fmt::format("{}", lines.back().step);
  bool const in_words = ImGui::CalcTextSize(("step " + widest).c_str()).x <= gap - margin;
  int64_t const every = number_stride(gap, ImGui::CalcTextSize(widest.c_str()).x, margin);
  // Lines may stand for every 2nd, 5th … step themselves.
  int64_t const stride = lines.size() > 1 ? std::max<int64_t>(lines[1].step - lines[0].step, 1) : 1;

  float const top = text_top(canvas.origin.y + row.y0, canvas.origin.y + row.y1);
  float free_from = -1;
  for (StepLine const& line : lines) {
    if (line.step / stride % every != 0 || line.x < free_from) continue;
    std::string const words = fmt::format("{}{}", in_words ? "step " : "", line.step);
    draw_text(list, ImVec2(canvas.origin.x + std::floor(line.x) + 4 * canvas.scale, top),
              surface(state.theme).text_dim, words);
    free_from = line.x + ImGui::CalcTextSize(words.c_str()).x + margin;
  }
}

/// The numbers of the steps in the rank's own row; every 2nd, 5th, 10th … where there is no room
/// for all.
void draw_step_numbers(ImDrawList& list, Scene const& scene, ViewState const& state,
                       Layout const& layout, Canvas canvas) {
  auto const& steps = layout.steps;
  for (size_t first = 0, last = 0; first < steps.size(); first = last) {
    while (last < steps.size() && steps[last].y0 == steps[first].y0) ++last;

    auto const row = std::find_if(layout.rows.begin(), layout.rows.end(),
                                  [&](Row const& r) { return r.y0 == steps[first].y0; });
    if (row == layout.rows.end() || scene.nodes[row->node].kind != NodeKind::kRank || !row->open)
      continue;
    draw_numbers_of_row(list, StepLines(steps).subspan(first, last - first), *row, state, layout,
                        canvas);
  }
}

uint32_t row_colour(NodeKind kind, bool alternate, Surface const& s) {
  if (kind == NodeKind::kRank) return s.header;
  if (kind == NodeKind::kDevice) return s.gutter;
  return alternate ? s.row : s.row_alternate;
}

/// Backgrounds and the lines of the ticks.
void draw_backgrounds(ImDrawList& list, Scene const& scene, Layout const& layout, Canvas canvas,
                      Surface const& s, bool pinned) {
  ImVec2 const low = canvas.origin;
  float const right = low.x + layout.viewport.width;
  bool alternate = false;
  for (Row const& row : layout.rows) {
    if (row.pinned != pinned) continue;
    alternate = !alternate;
    list.AddRectFilled(ImVec2(low.x, low.y + row.y0), ImVec2(right, low.y + row.y1),
                       row_colour(scene.nodes[row.node].kind, alternate, s));
    list.AddRectFilled(ImVec2(low.x, low.y + row.y1 - 1), ImVec2(right, low.y + row.y1), s.line);
  }

  float const bottom = low.y + (pinned ? layout.pinned_height : layout.viewport.height);
  for (Tick const& tick : layout.ticks)
    list.AddRectFilled(ImVec2(low.x + std::floor(tick.x), low.y),
                       ImVec2(low.x + std::floor(tick.x) + 1, bottom), with_alpha(s.line, 0.8F));
}

/// The rows that are pinned, or those that scroll below them.
void draw_some_rows(ImDrawList& list, Scene const& scene, ViewState const& state,
                    Layout const& layout, Canvas canvas, bool pinned) {
  Surface const& s = surface(state.theme);
  ImVec2 const low = canvas.origin;
  float const bottom = low.y + (pinned ? layout.pinned_height : layout.viewport.height);
  list.PushClipRect(ImVec2(low.x, low.y + layout.top_of(pinned)),
                    ImVec2(low.x + layout.viewport.width, bottom), true);
  draw_backgrounds(list, scene, layout, canvas, s, pinned);

  for (Row const& row : layout.rows) {
    if (row.pinned != pinned) continue;
    for (uint32_t i = row.first_item; i < row.last_item; ++i) {
      if (layout.items[i].kind == ItemKind::kSegment) {
        draw_segment(list, state, layout.items[i], canvas);
      } else {
        draw_item(list, state, row, layout.items[i], canvas);
      }
    }
    draw_curve(list, scene, state, layout, row, canvas);
  }

  for (Item const& mark : layout.marks)
    list.AddRectFilled(ImVec2(low.x + mark.x0, low.y + mark.y0),
                       ImVec2(low.x + mark.x1, low.y + mark.y1),
                       paint_colour(mark.paint, state.theme));
  for (StepLine const& line : layout.steps) {
    if (line.pinned != pinned) continue;
    float const x = low.x + std::floor(line.x);
    list.AddRectFilled(ImVec2(x, low.y + line.y0), ImVec2(x + 1, low.y + line.y1),
                       with_alpha(s.text, 0.34F));
  }
  if (!pinned) draw_step_numbers(list, scene, state, layout, canvas);
  list.PopClipRect();
}

/// The rank of a pinned row: it stands apart from it.
std::string group_of(Node const& node) {
  return printable_name(std::string_view(node.path).substr(0, node.path.find('/')), 60);
}

/// A head and a needle.
void draw_pin(ImDrawList& list, ImVec2 at, uint32_t colour, float scale) {
  float const x = at.x + 4 * scale;
  float const height = ImGui::GetFontSize();
  list.AddCircleFilled(ImVec2(x, at.y + height * 0.4F), 3 * scale, colour);
  list.AddLine(ImVec2(x, at.y + height * 0.5F), ImVec2(x, at.y + height), colour);
}

/// Points down at what is open, right at what is closed. `at`: left end and middle of the height.
void draw_triangle_of_group(ImDrawList& list, ImVec2 at, bool open, uint32_t colour, float scale) {
  float const size = 4 * scale;
  ImVec2 const c(at.x + size, at.y);
  if (open) {
    list.AddTriangleFilled(ImVec2(c.x - size, c.y - size / 2), ImVec2(c.x + size, c.y - size / 2),
                           ImVec2(c.x, c.y + size / 2 + 1), colour);
  } else {
    list.AddTriangleFilled(ImVec2(c.x - size / 2, c.y - size), ImVec2(c.x + size / 2 + 1, c.y),
                           ImVec2(c.x - size / 2, c.y + size), colour);
  }
}

/// What the row of a device is called that makes others wait.
constexpr char const* kCause = "culprit";

void draw_label(ImDrawList& list, Scene const& scene, Row const& row, bool is_cause, Canvas canvas,
                Surface const& s) {
  Node const& node = scene.nodes[row.node];
  float const scale = canvas.scale;
  float const left = canvas.origin.x - gutter() * scale;
  float const right = canvas.origin.x;
  float const y0 = canvas.origin.y + row.y0;
  float const y1 = canvas.origin.y + row.y1;
  if (node.kind == NodeKind::kRank)
    list.AddRectFilled(ImVec2(left, y0), ImVec2(right, y1), s.header);
  list.AddRectFilled(ImVec2(left, y1 - 1), ImVec2(right, y1), s.line);

  bool const group = node.kind == NodeKind::kRank || node.kind == NodeKind::kDevice;
  float const x = left + label_indent(node, row.pinned) * scale;
  float const height = group ? y1 - y0 : std::min(y1 - y0, (kLaneHeight + kTrackPad) * scale);
  float const top = text_top(y0, y0 + height);
  if (row.pinned) {
    draw_pin(list, ImVec2(x, top), s.accent, scale);
  } else if (group) {
    draw_triangle_of_group(list, ImVec2(x, std::round((y0 + y1) / 2)), row.open, s.text_dim, scale);
  }

  RowWords const words = row_words(scene, row, scale);
  if (node.kind == NodeKind::kRank) push_bold();
  draw_text(list, ImVec2(left + words.x, top), s.text, words.label);
  if (node.kind == NodeKind::kRank) pop_bold();
  if (is_cause) {
    list.AddRectFilled(ImVec2(left, y0), ImVec2(left + 4 * scale, y1), s.critical);
    float const width = ImGui::CalcTextSize(kCause).x;
    draw_text(list, ImVec2(right - 8 * scale - width, top), s.critical, kCause);
  } else if (!words.note.empty())
    draw_text(list, ImVec2(right - 8 * scale - ImGui::CalcTextSize(words.note.c_str()).x, top),
              s.text_dim, words.note);
}

void draw_labels(ImDrawList& list, Scene const& scene, Layout const& layout, Canvas canvas,
                 Surface const& s, bool pinned) {
  float const left = canvas.origin.x - gutter() * canvas.scale;
  float const right = canvas.origin.x;
  float const low = canvas.origin.y + layout.top_of(pinned);
  float const high = canvas.origin.y + (pinned ? layout.pinned_height : layout.viewport.height);
  list.PushClipRect(ImVec2(left, low), ImVec2(right, high), true);
  list.AddRectFilled(ImVec2(left, low), ImVec2(right, high), s.gutter);

  for (uint32_t i = 0; i < layout.rows.size(); ++i)
    if (layout.rows[i].pinned == pinned)
      draw_label(list, scene, layout.rows[i], layout.cause == i, canvas, s);

  list.AddRectFilled(ImVec2(right - 1, low), ImVec2(right, high), s.line_strong);
  list.PopClipRect();
}

}  // namespace

void mark_rectangle(ImDrawList& list, ImVec2 low, ImVec2 high, ChangeMark mark, Theme theme,
                    float alpha) {
  uint32_t const colour = mark_colour(mark, theme);
  if (!is_of_one_side(mark)) return list.AddRectFilled(low, high, with_alpha(colour, alpha));
  list.AddRectFilled(low, high, with_alpha(colour, alpha * kOneSided));
  list.AddRectFilled(ImVec2(low.x, high.y - std::round((high.y - low.y) * kIdleFoot)), high,
                     with_alpha(colour, alpha));
}

void draw_rows(ImDrawList& list, Scene const& scene, ViewState const& state, Layout const& layout,
               Canvas canvas) {
  draw_some_rows(list, scene, state, layout, canvas, false);
  if (layout.pinned_height > 0) draw_some_rows(list, scene, state, layout, canvas, true);
}

float label_indent(Node const& node, bool pinned) {
  return 8 + (pinned ? 0 : 14 * static_cast<float>(node.indent));
}

RowWords row_words(Scene const& scene, Row const& row, float scale) {
  Node const& node = scene.nodes[row.node];
  bool const is_rank = node.kind == NodeKind::kRank;
  RowWords words;
  words.x = (label_indent(node, row.pinned) + kBeforeLabel) * scale;

  if (is_rank) push_bold();
  words.label = fit(node.label, gutter() * scale - words.x - 8 * scale);
  float const used = ImGui::CalcTextSize(words.label.c_str()).x;
  if (is_rank) pop_bold();

  words.note = row.pinned && !is_rank ? group_of(node) : node.note;
  if (words.note.empty()) words.note = value_range(node.curve, node.bytes);
  bool const has_room =
      words.x + used + ImGui::CalcTextSize(words.note.c_str()).x + kBeforeNote * scale <=
      gutter() * scale;
  words.is_cut = words.label != node.label || (!words.note.empty() && !has_room);
  words.whole_note = words.note;
  if (!has_room) words.note.clear();
  return words;
}

void draw_gutter(ImDrawList& list, Scene const& scene, ViewState const& state, Layout const& layout,
                 Canvas canvas) {
  draw_labels(list, scene, layout, canvas, surface(state.theme), false);
  if (layout.pinned_height <= 0) return;
  draw_labels(list, scene, layout, canvas, surface(state.theme), true);
  // What scrolls goes under them.
  float const bottom = canvas.origin.y + layout.pinned_height;
  list.AddRectFilled(ImVec2(canvas.origin.x - gutter() * canvas.scale, bottom - 2 * canvas.scale),
                     ImVec2(canvas.origin.x + layout.viewport.width, bottom),
                     surface(state.theme).line_strong);
}

void draw_ruler(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas) {
  Surface const& s = surface(state.theme);
  float const scale = canvas.scale;
  float const top = canvas.origin.y - kRuler * scale;
  float const right = canvas.origin.x + layout.viewport.width;
  list.AddRectFilled(ImVec2(canvas.origin.x - gutter() * scale, top),
                     ImVec2(right, canvas.origin.y), s.background);
  list.AddRectFilled(ImVec2(canvas.origin.x - gutter() * scale, canvas.origin.y - 1),
                     ImVec2(right, canvas.origin.y), s.line_strong);

  // A shown time this short means that the run has no events.
  bool const empty = layout.window.span() <= 1;
  // A filter takes the whole width.
  bool const covered = state.panels.filter || !state.tracks.filter.empty();
  std::string const shown =
      empty || covered
          ? ""
          : base::format_duration(static_cast<int64_t>(layout.window.span())) + " shown";
  float const width = ImGui::CalcTextSize(shown.c_str()).x;
  draw_text(list, ImVec2(canvas.origin.x - width - 8 * scale, text_top(top, canvas.origin.y)),
            s.text_dim, shown);

  list.PushClipRect(ImVec2(canvas.origin.x, top), ImVec2(right, canvas.origin.y), true);
  for (Tick const& tick : layout.ticks) {
    float const x = canvas.origin.x + std::floor(tick.x);
    list.AddRectFilled(ImVec2(x, canvas.origin.y - 7 * scale), ImVec2(x + 1, canvas.origin.y),
                       s.text_dim);
    draw_text(list, ImVec2(x + 4 * scale, text_top(top, canvas.origin.y)), s.text, tick.label);
  }
  list.PopClipRect();
}

namespace {

/// Writes words and swatches from left to right as long as there is room.
class LegendPen {
 public:
  LegendPen(ImDrawList& list, Theme theme, ImVec2 at, float width, float scale)
      : list_(list),
        theme_(theme),
        x_(at.x + 8 * scale),
        top_(text_top(at.y, at.y + kLegend * scale)),
        right_(at.x + width),
        scale_(scale) {}

  void skip(float pixels) { x_ += pixels * scale_; }

  void words(std::string_view text, uint32_t colour) {
    draw_text(list_, ImVec2(x_, top_), colour, text);
    x_ += ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  }

  void entry(Paint paint, bool idle) {
    if (x_ + 130 * scale_ > right_) return;

    float const size = ImGui::GetFontSize();
    uint32_t const colour = paint_colour(paint, theme_);
    ImVec2 const high(x_ + size * 0.8F, top_ + size * 0.9F);
    if (idle) list_.AddRectFilled(ImVec2(x_, top_ + size * 0.1F), high, with_alpha(colour, 0.25F));
    draw_part(list_, ImVec2(x_, top_ + size * (idle ? 0.5F : 0.1F)), high, paint, theme_);

    x_ += size * 0.8F + 5 * scale_;
    words(paint_name(paint), surface(theme_).text);
    skip(14);
  }

 private:
  ImDrawList& list_;
  Theme theme_;
  float x_, top_, right_, scale_;
};

/// Idle time of all devices by its colour.
std::array<int64_t, kPaintCount> idle_by_paint(analyzer::Analysis const& analysis) {
  std::array<int64_t, kPaintCount> idle{};
  for (auto const& device : analysis.devices)
    for (size_t cause = 0; cause < device.time.idle_by_cause.size(); ++cause)
      idle[static_cast<size_t>(paint_of(static_cast<analyzer::IdleCause>(cause)))] +=
          device.time.idle_by_cause[cause];
  return idle;
}

}  // namespace

void draw_legend(ImDrawList& list, Scene const& scene, ViewState const& state, ImVec2 at,
                 float width, float scale) {
  Surface const& s = surface(state.theme);
  list.AddRectFilled(at, ImVec2(at.x + width, at.y + kLegend * scale), s.background);
  list.AddRectFilled(at, ImVec2(at.x + width, at.y + 1), s.line_strong);

  LegendPen pen(list, state.theme, at, width, scale);
  pen.words("busy  ", s.text_dim);
  for (Paint const paint : {Paint::kCompute, Paint::kCommunication, Paint::kCopy})
    pen.entry(paint, false);

  auto const idle = idle_by_paint(scene.analysis);
  pen.skip(6);
  if (std::any_of(idle.begin(), idle.end(), [](int64_t time) { return time > 0; }))
    pen.words("idle, by cause  ", s.text_dim);
  for (size_t paint = 0; paint < idle.size(); ++paint)
    if (idle[paint] > 0) pen.entry(static_cast<Paint>(paint), true);
}

}  // namespace stepscope::viewer
