#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "trace/model/details.h"
#include "viewer/async/background.h"
#include "viewer/panels/common/device_chooser.h"
#include "viewer/panels/common/panel.h"
#include "viewer/queries/memory_owners.h"
#include "viewer/scene/fold.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct OwnersCache : Background<OwnersKey, std::optional<analyzer::MemoryOwners>> {};

using analyzer::MemoryTimeline;
using Point = analyzer::MemoryPoint;
constexpr size_t kPurposes = 7;

/// Okabe-Ito again; the order is MemoryPurpose's.
uint32_t purpose_colour(size_t purpose, Theme theme) {
  static constexpr std::array<Paint, kPurposes> kPaint = {
      Paint::kUnexplained, Paint::kCompute,    Paint::kCommunication, Paint::kAllocation,
      Paint::kCopy,        Paint::kDependency, Paint::kInput};
  return paint_colour(kPaint[purpose], theme);
}

struct Graph {
  ImVec2 low, high;
  double top_bytes = 1;
  TimeWindow window;
  [[nodiscard]] float y(double bytes) const {
    return high.y - static_cast<float>(bytes / top_bytes) * (high.y - low.y);
  }
  [[nodiscard]] double time(float x) const {
    return window.begin + static_cast<double>((x - low.x) / (high.x - low.x)) * window.span();
  }
};

/// The curve of the device's row of the timeline, which has a value a point; null where there is
/// none.
Curve const* curve_of(Scene const& scene, uint32_t device) {
  auto const node = scene.node_of_device(scene.analysis.devices[device].ref);
  if (!node) return nullptr;
  for (uint32_t i = *node + 1; i < scene.nodes[*node].subtree_end; ++i) {
    Curve const& curve = scene.nodes[i].curve;
    if (scene.nodes[i].kind == NodeKind::kMemory &&
        curve.time.size() == scene.analysis.devices[device].memory.timeline.size())
      return &curve;
  }
  return nullptr;
}

/// Index after the last point at or before `time`.
uint32_t points_until(Scene const& scene, MemoryTimeline const& points, double time) {
  return static_cast<uint32_t>(points.count_passed(
      [&](int64_t at) { return static_cast<double>(scene.to_view(at)) <= time; }));
}

/// A column a pixel: the highest point in it, stacked by purpose.
void draw_stack(ImDrawList& list, Scene const& scene, ViewState const& state, Curve const& curve,
                MemoryTimeline const& points, Graph const& graph) {
  auto const count = static_cast<uint32_t>(curve.time.size());
  auto const until_time = [&](uint32_t from, double time) {
    return gallop(from, count,
                  [&](uint32_t i) { return static_cast<double>(curve.time[i]) <= time; });
  };

  uint32_t before = until_time(0, graph.time(graph.low.x));
  for (float x = graph.low.x; x < graph.high.x; ++x) {
    uint32_t const until = until_time(before, graph.time(x + 1));
    uint32_t const first = before > 0 ? before - 1 : 0;
    before = until;
    if (until == 0 || graph.time(x) > static_cast<double>(scene.length)) continue;

    // One point a pixel is unpacked.
    Point const best = points[highest_place(curve, first, until)];
    double sum = 0;
    for (size_t purpose = 0; purpose < kPurposes; ++purpose) {
      auto const bytes = static_cast<double>(best.by_purpose[purpose]);
      if (bytes <= 0) continue;
      list.AddRectFilled(ImVec2(x, graph.y(sum + bytes)), ImVec2(x + 1, graph.y(sum)),
                         purpose_colour(purpose, state.theme));
      sum += bytes;
    }
  }
}

void line_at(ImDrawList& list, Graph const& graph, double bytes, std::string const& words,
             uint32_t colour) {
  float const y = std::round(graph.y(bytes));
  for (float x = graph.low.x; x < graph.high.x; x += 8)
    list.AddRectFilled(ImVec2(x, y), ImVec2(x + 4, y + 1), colour);
  ImVec2 const size = ImGui::CalcTextSize(words.c_str());
  draw_text(list, ImVec2(graph.high.x - size.x - 4, std::max(y - size.y - 1, graph.low.y)), colour,
            words);
}

void point_tooltip(Scene const& scene, ViewState const& state, MemoryTimeline const& points,
                   Graph const& graph) {
  double const time = graph.time(ImGui::GetIO().MousePos.x);
  uint32_t const until = points_until(scene, points, time);
  if (until == 0) return;
  Point const point = points[until - 1];

  begin_tooltip();
  heading(base::format_bytes(point.allocated_bytes) + " allocated");
  text(fmt::format("at {}, {} reserved", format_time(time, graph.window.span() / 1000),
                   base::format_bytes(point.reserved_bytes)));

  for (size_t purpose = 0; purpose < kPurposes; ++purpose) {
    if (point.by_purpose[purpose] == 0) continue;
    swatch(purpose_colour(purpose, state.theme));
    text(fmt::format("{}  {}", model::to_string(static_cast<model::MemoryPurpose>(purpose)),
                     base::format_bytes(point.by_purpose[purpose])));
  }
  end_tooltip();
}

/// "about 120 steps": the interval where it is wide.
std::string steps_until_full(analyzer::MemoryForecast const& forecast) {
  auto const steps = [](double n) {
    return base::format_count(static_cast<uint64_t>(std::clamp(n, 0.0, 1e15)));
  };
  bool const is_sure = forecast.latest_steps <= forecast.earliest_steps * 1.2;
  return is_sure ? fmt::format("{} steps", steps(forecast.steps))
                 : fmt::format("{} – {} steps", steps(forecast.earliest_steps),
                               steps(forecast.latest_steps));
}

/// Where what is never freed grows to: a line through the least of the last step, as steep as the
/// floors of the steps grow.
void draw_growth(ImDrawList& list, Scene const& scene, ViewState const& state,
                 analyzer::MemoryStats const& memory, Graph const& graph) {
  if (!memory.floor_forecast) return;

  auto const& steps = scene.analysis.steps;
  auto const ref = scene.analysis.devices[state.device].ref;
  auto const first = std::partition_point(steps.begin(), steps.end(),
                                          [&](auto const& step) { return step.ref < ref; });
  auto const last =
      std::partition_point(first, steps.end(), [&](auto const& step) { return step.ref == ref; });
  if (last - first < 2) return;

  auto const& final_step = *(last - 1);
  double const period = static_cast<double>(final_step.window.end - first->window.begin) /
                        static_cast<double>(last - first);
  auto const begin = static_cast<double>(scene.to_view(final_step.host_window.begin));
  auto const end = static_cast<double>(scene.to_view(final_step.host_window.end));
  uint32_t const until = points_until(scene, memory.timeline, end);
  uint32_t point = points_until(scene, memory.timeline, begin);
  if (until == 0 || period <= 0) return;

  double floor = static_cast<double>(memory.timeline[point > 0 ? point - 1 : 0].allocated_bytes);
  for (; point < until; ++point)
    floor = std::min(floor, static_cast<double>(memory.timeline[point].allocated_bytes));

  double const slope = memory.floor_forecast->bytes_per_step / period;
  auto const at = [&](double time) {
    float const x =
        graph.low.x + static_cast<float>((time - graph.window.begin) / graph.window.span()) *
                          (graph.high.x - graph.low.x);
    return ImVec2(x, graph.y(floor + slope * (time - end)));
  };

  double const from =
      std::max(graph.window.begin, static_cast<double>(scene.to_view(first->window.begin)));
  if (from >= graph.window.end) return;

  list.AddLine(at(from), at(graph.window.end), surface(state.theme).background, 4 * ui_scale());
  list.AddLine(at(from), at(graph.window.end), surface(state.theme).critical, 2 * ui_scale());
}

void facts_column(ViewState const& state, analyzer::MemoryStats const& memory) {
  Surface const& s = surface(state.theme);
  if (ImGui::BeginTable("facts", 2, ImGuiTableFlags_SizingFixedFit)) {
    ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthFixed);
    auto const add = [&](char const* name, std::string const& value) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      text_coloured(name, s.text_dim);
      ImGui::TableNextColumn();
      text_right(value, s.text);
    };

    if (memory.peak_allocated_bytes)
      add("peak allocated", base::format_bytes(*memory.peak_allocated_bytes));
    if (memory.peak_reserved_bytes)
      add("peak reserved", base::format_bytes(*memory.peak_reserved_bytes));
    if (memory.capacity_bytes) add("capacity", base::format_bytes(*memory.capacity_bytes));
    if (memory.fragmentation) add("fragmentation", base::format_share(*memory.fragmentation));
    if (memory.floor_forecast) add("full in", steps_until_full(*memory.floor_forecast));
    if (memory.floor_growth_bytes_per_step && *memory.floor_growth_bytes_per_step >= 1)
      add("growth a step",
          base::format_bytes(static_cast<uint64_t>(*memory.floor_growth_bytes_per_step)));
    ImGui::EndTable();
  }

  text_coloured("at the peak", s.text_dim);
  for (size_t purpose = 0; purpose < kPurposes; ++purpose) {
    if (memory.by_purpose_at_peak[purpose] == 0) continue;
    swatch(purpose_colour(purpose, state.theme));
    text(model::to_string(static_cast<model::MemoryPurpose>(purpose)));
    ImGui::SameLine();
    text_right(base::format_bytes(memory.by_purpose_at_peak[purpose]), s.text);
  }
}

/// Who holds the memory at the peak, or at the instant that was clicked.
void owners_column(Scene const& scene, ViewState& state, PanelCache& cache,
                   analyzer::MemoryStats const& facts) {
  Surface const& s = surface(state.theme);
  std::optional<analyzer::MemoryOwners> const* shown = &facts.peak_owners;

  if (state.panels.memory_at) {
    int64_t const at = add(*state.panels.memory_at, scene.origin);
    shown = cache.of<OwnersCache>().ask(
        {state.device, at},
        [&scene](OwnersKey const& key, std::stop_token const&) { return owners_at(scene, key); });
    text_coloured("in use at " + format_time(static_cast<double>(*state.panels.memory_at),
                                             state.window.span() / 1000),
                  s.accent);
    ImGui::SameLine();
    if (ImGui::SmallButton("Peak")) state.panels.memory_at.reset();
  } else {
    text_coloured("in use at the peak; click the curve for another time", s.text_dim);
  }

  if (shown == nullptr) {
    text_coloured("counting…", s.text_dim);
    return;
  }
  if (!*shown) {
    empty_state("Not known here: frees are missing from the recording.", state.theme);
    return;
  }

  analyzer::MemoryOwners const& owners = **shown;
  uint64_t most = std::max(owners.before_recording_bytes, owners.other_bytes);
  for (auto const& owner : owners.owners) most = std::max(most, owner.bytes);

  auto const line = [&](std::string const& name, uint64_t bytes) {
    if (bytes == 0) return;
    ImVec2 const at = ImGui::GetCursorScreenPos();
    float const room = ImGui::GetContentRegionAvail().x;
    float const width =
        room * static_cast<float>(static_cast<double>(bytes) / static_cast<double>(most));
    ImGui::GetWindowDrawList()->AddRectFilled(
        at, ImVec2(at.x + width, at.y + ImGui::GetFontSize() + 2 * ui_scale()),
        with_alpha(paint_colour(Paint::kAllocation, state.theme), 0.30F), 2 * ui_scale());

    std::string const amount = base::format_bytes(bytes);
    text(fit(name, room - ImGui::CalcTextSize(amount.c_str()).x - 12 * ui_scale()));
    hint(name);
    ImGui::SameLine();
    text_right(amount, s.text);
  };

  for (auto const& owner : owners.owners) {
    std::string const name = printable_name(owner.name);
    line(name.empty() ? "(no name)" : name, owner.bytes);
  }
  line("others", owners.other_bytes);
  line("allocated before the recording", owners.before_recording_bytes);
}

/// The curve with its limits and marks; `graph`: where.
void draw_memory_graph(Scene const& scene, ViewState const& state,
                       analyzer::MemoryStats const& facts, Graph const& graph) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(graph.low, graph.high, true);
  list.AddRectFilled(graph.low, graph.high, surface(state.theme).row);

  Curve const* const known = curve_of(scene, state.device);
  Curve const made = known != nullptr ? Curve() : memory_curve(facts, scene.origin);
  draw_stack(list, scene, state, known != nullptr ? *known : made, facts.timeline, graph);

  uint64_t const peak = facts.peak_allocated_bytes.value_or(1);
  line_at(list, graph, static_cast<double>(peak), "peak " + base::format_bytes(peak),
          surface(state.theme).text);
  if (facts.capacity_bytes && static_cast<double>(*facts.capacity_bytes) < graph.top_bytes)
    line_at(list, graph, static_cast<double>(*facts.capacity_bytes),
            "capacity " + base::format_bytes(*facts.capacity_bytes), surface(state.theme).critical);
  draw_growth(list, scene, state, facts, graph);

  if (state.panels.memory_at) {
    double const share =
        (static_cast<double>(*state.panels.memory_at) - graph.window.begin) / graph.window.span();
    float const x =
        std::round(graph.low.x + static_cast<float>(share) * (graph.high.x - graph.low.x));
    list.AddRectFilled(ImVec2(x, graph.low.y), ImVec2(x + 1, graph.high.y),
                       surface(state.theme).accent);
  }
  list.PopClipRect();
}

/// Allocated memory over the visible time. A click asks who holds it there.
void memory_graph(Scene const& scene, ViewState& state, analyzer::MemoryStats const& facts) {
  float const scale = ui_scale();
  ImVec2 const room = ImGui::GetContentRegionAvail();
  float const width = std::max(room.x - (220 + 300) * scale, 50 * scale);
  float const caption = ImGui::GetFontSize() + 4 * scale;
  float const height = std::max(room.y - caption - 2 * scale, 40 * scale);
  ImVec2 const at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("graph", ImVec2(width, height));

  Graph graph{at, ImVec2(at.x + width, at.y + height), 1, state.window};
  graph.top_bytes =
      static_cast<double>(std::max<uint64_t>(facts.peak_allocated_bytes.value_or(1), 1)) * 1.15;
  draw_memory_graph(scene, state, facts, graph);
  std::string const shown = format_time_range(state.window.begin, state.window.end);
  draw_text(*ImGui::GetWindowDrawList(), ImVec2(graph.low.x, graph.high.y + 3 * scale),
            surface(state.theme).text_dim, fit("allocated, by purpose; " + shown, width));

  if (ImGui::IsItemClicked())
    state.panels.memory_at = static_cast<int64_t>(graph.time(ImGui::GetIO().MousePos.x));
  if (ImGui::IsItemHovered()) point_tooltip(scene, state, facts.timeline, graph);
}

}  // namespace

void memory_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  auto const& devices = scene.analysis.devices;
  bool const any = std::any_of(devices.begin(), devices.end(),
                               [](auto const& device) { return !device.memory.timeline.empty(); });
  if (!any || state.device >= devices.size()) {
    empty_state(devices.empty() ? without_device(scene, "This panel shows the memory of devices.")
                                : "No allocations were recorded in this run.",
                state.theme);
    return;
  }

  device_chooser(scene, state);
  analyzer::MemoryStats const& facts = devices[state.device].memory;
  if (facts.timeline.empty()) {
    empty_state("No allocations were recorded on this device.", state.theme);
    return;
  }

  float const scale = ui_scale();
  memory_graph(scene, state, facts);
  ImGui::SameLine(0, 14 * scale);
  ImGui::BeginChild("facts", ImVec2(206 * scale, 0));
  facts_column(state, facts);
  ImGui::EndChild();

  ImGui::SameLine(0, 14 * scale);
  ImGui::BeginChild("owners");
  owners_column(scene, state, scope.cache, facts);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
