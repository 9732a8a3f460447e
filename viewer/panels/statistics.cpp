#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/event_store/event_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/common/panel.h"
#include "viewer/panels/host_time.h"
#include "viewer/panels/step_comparison.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct StatisticsCache : Background<TimeWindow, RangeStatistics> {};

/// Width at scale 1 from which the shares of a split have their columns.
constexpr float kWideTable = 560;

/// The parts of a split, in the order of every stacked bar.
constexpr Paint kOrder[] = {Paint::kCompute,    Paint::kCommunication, Paint::kCopy,
                            Paint::kProfiler,   Paint::kAllocation,    Paint::kSync,
                            Paint::kInput,      Paint::kDependency,    Paint::kPeer,
                            Paint::kGraph,      Paint::kLaunchBound,   Paint::kLaunchLatency,
                            Paint::kUnexplained};

void split_cell(RangeStatistics::DeviceSplit const& split, int64_t total, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  float const height = ImGui::GetFontSize();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, ImVec2(at.x + width, at.y + height), surface(theme).header, 2 * scale);
  float x = at.x;

  for (Paint const paint : kOrder) {
    int64_t const time = split.time[static_cast<size_t>(paint)];
    if (time <= 0) continue;
    float const next =
        x + width * static_cast<float>(static_cast<double>(time) / static_cast<double>(total));
    bool const idle =
        paint != Paint::kCompute && paint != Paint::kCommunication && paint != Paint::kCopy;
    draw_part(list, ImVec2(x, idle ? at.y + height * 0.55F : at.y),
              ImVec2(std::max(next, x + 1), at.y + height), paint, theme);
    x = next;
  }

  ImGui::Dummy(ImVec2(width, height));
  if (!ImGui::IsItemHovered()) return;

  begin_tooltip();
  for (Paint const paint : kOrder) {
    int64_t const time = split.time[static_cast<size_t>(paint)];
    if (time <= 0) continue;
    part_swatch(paint, theme);
    text(fmt::format("{}  {}  {}", paint_name(paint), base::format_duration(time),
                     base::format_share(static_cast<double>(time) / static_cast<double>(total))));
  }
  end_tooltip();
}

std::string device_name(Scene const& scene, RangeStatistics::DeviceSplit const& split) {
  Node const& node = scene.nodes[split.node];
  return fmt::format(
      "rank {} · {}", scene.trace(node.rank).info().rank,
      std::string_view(node.label).substr(0, std::min(node.label.find(" · "), node.label.size())));
}

void device_row(Scene const& scene, ViewState const& state,
                RangeStatistics::DeviceSplit const& split, int64_t total, bool wide) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  text(device_name(scene, split));

  ImGui::TableNextColumn();
  split_cell(split, total, state.theme);

  for (int64_t const time : {split.idle, split.time[static_cast<size_t>(Paint::kCompute)],
                             split.time[static_cast<size_t>(Paint::kCommunication)],
                             split.time[static_cast<size_t>(Paint::kCopy)]}) {
    if (!ImGui::TableNextColumn() || ImGui::TableGetColumnIndex() < 2) break;
    text_right(base::format_share(static_cast<double>(time) / static_cast<double>(total)),
               time > 0 ? surface(state.theme).text : surface(state.theme).text_dim);
    if (!wide) break;
  }
}

void device_table(Scene const& scene, ViewState const& state, RangeStatistics const& facts) {
  int64_t const total = std::max<int64_t>(static_cast<int64_t>(facts.range.span()), 1);
  // In a narrow window the bar says more than the shares.
  bool const wide = ImGui::GetContentRegionAvail().x > kWideTable * ui_scale();

  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable(wide ? "devices" : "devices narrow", wide ? 6 : 3, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);

  // As wide as the widest of the names that fit on a screen.
  float widest = 0;
  for (size_t i = 0; i < std::min<size_t>(facts.devices.size(), 64); ++i)
    widest = std::max(widest, ImGui::CalcTextSize(device_name(scene, facts.devices[i]).c_str()).x);
  ImGui::TableSetupColumn("Device", ImGuiTableColumnFlags_WidthFixed, widest);
  ImGui::TableSetupColumn("Split of the range", ImGuiTableColumnFlags_WidthStretch);
  for (char const* title : {"Idle", "Compute", "Exposed comm", "Exposed copy"}) {
    if (!wide && title != std::string_view("Idle")) continue;
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed,
                            std::max(ImGui::CalcTextSize(title).x, 56 * ui_scale()));
  }

  header_row(2);
  // Only the rows that can be seen.
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(facts.devices.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      device_row(scene, state, facts.devices[static_cast<size_t>(i)], total, wide);
  ImGui::EndTable();
}

void thread_row(Scene const& scene, ViewState const& state, RangeStatistics::Thread const& thread,
                int64_t total) {
  Node const& node = scene.nodes[thread.node];
  double const share = static_cast<double>(thread.busy) / static_cast<double>(total);

  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  std::string const name =
      fmt::format("rank {} · {}", scene.trace(node.rank).info().rank, node.label);
  text(fit(name, ImGui::GetContentRegionAvail().x));
  hint(name);

  ImGui::TableNextColumn();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  ImVec2 const size(std::max(ImGui::GetContentRegionAvail().x, 1.0F), ImGui::GetFontSize());
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), surface(state.theme).header,
                     2 * ui_scale());
  list.AddRectFilled(at, ImVec2(at.x + size.x * static_cast<float>(share), at.y + size.y),
                     paint_colour(Paint::kRange, state.theme), 2 * ui_scale());
  ImGui::Dummy(size);

  ImGui::TableNextColumn();
  text_right(base::format_duration(thread.busy), surface(state.theme).text);
  ImGui::TableNextColumn();
  text_right(base::format_share(share), surface(state.theme).text);
}

/// The busy time of threads, for a run without devices.
void busy_threads(Scene const& scene, ViewState const& state, RangeStatistics const& facts) {
  int64_t const total = std::max<int64_t>(static_cast<int64_t>(facts.range.span()), 1);
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("threads", 4, flags)) return;

  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Thread", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("Busy in the range", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("Time", ImGuiTableColumnFlags_WidthFixed, 76 * ui_scale());
  ImGui::TableSetupColumn("Share", ImGuiTableColumnFlags_WidthFixed, 56 * ui_scale());
  header_row(2);

  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(facts.threads.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      thread_row(scene, state, facts.threads[static_cast<size_t>(i)], total);
  ImGui::EndTable();
}

void op_table(ViewState& state, RangeStatistics const& facts) {
  bool const of_hosts = facts.devices.empty();
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("ops", 3, flags)) return;

  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn(of_hosts ? "Range or call" : "Device op",
                          ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("Count", ImGuiTableColumnFlags_WidthFixed, 60 * ui_scale());
  ImGui::TableSetupColumn(of_hosts ? "Own time" : "Total", ImGuiTableColumnFlags_WidthFixed,
                          76 * ui_scale());
  header_row(1);

  for (auto const& op : facts.ops) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    swatch(paint_colour(op.paint, state.theme));
    ImGui::PushID(&op);
    std::string const shown = fit_kernel(op.name, ImGui::GetContentRegionAvail().x);
    ImVec2 const at = ImGui::GetCursorScreenPos();
    if (ImGui::Selectable("##op", false, ImGuiSelectableFlags_SpanAllColumns)) {
      search_for(state, query_for(op.name));
    }
    hint(op.name);
    ImGui::PopID();
    draw_text(*ImGui::GetWindowDrawList(), at, surface(state.theme).text, shown);

    ImGui::TableNextColumn();
    text_right(base::format_count(op.count), surface(state.theme).text);
    ImGui::TableNextColumn();
    text_right(base::format_duration(op.total), surface(state.theme).text);
  }
  ImGui::EndTable();
}

}  // namespace

void statistics_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  if (step_comparison(scene, state)) return;

  TimeWindow range = state.range.value_or(state.window);
  range.begin = std::clamp(range.begin, 0.0, static_cast<double>(scene.length));
  range.end = std::clamp(range.end, 0.0, static_cast<double>(scene.length));

  auto& cache = scope.cache.of<StatisticsCache>();
  RangeStatistics const* facts =
      cache.ask(range, [&scene](TimeWindow const& of, std::stop_token const& stop) {
        return range_statistics(scene, of, stop);
      });
  bool const computing = facts == nullptr;
  if (computing) facts = cache.latest();

  if (facts == nullptr) {
    empty_state("Adding up…", state.theme);
    return;
  }

  std::string const words = fmt::format(
      "{}  {}, {}, {} {}", state.range ? "Marked range" : "Visible time",
      format_time_range(range.begin, range.end),
      base::format_duration(static_cast<int64_t>(range.span())),
      base::format_count(facts->op_count), facts->devices.empty() ? "host events" : "device ops");
  if (facts->devices.empty() && facts->threads.empty()) {
    if (!scene.analysis.hosts.empty() && !facts->are_threads_known) return host_time(scene, state);
    empty_state(
        scene.analysis.hosts.empty()
            ? without_device(
                  scene,
                  "This panel shows how devices, or threads, spend the time that is visible.")
            : "No thread did anything in this time.",
        state.theme);
    return;
  }

  text_coloured(computing ? words + "  (adding up…)" : words,
                state.range ? surface(state.theme).accent : surface(state.theme).text_dim);

  float const width = ImGui::GetContentRegionAvail().x;
  ImGui::BeginChild("split", ImVec2(width * 0.56F, 0));
  if (facts->devices.empty())
    busy_threads(scene, state, *facts);
  else
    device_table(scene, state, *facts);
  ImGui::EndChild();

  ImGui::SameLine(0, 20 * ui_scale());
  ImGui::BeginChild("top", ImVec2(0, 0));
  op_table(state, *facts);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
