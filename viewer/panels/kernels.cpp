#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/common/device_chooser.h"
#include "viewer/panels/common/panel.h"
#include "viewer/panels/histogram.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Width at scale 1 from which all columns leave room for names.
constexpr float kWideKernels = 760;

enum Column { kName, kShare, kCount, kTotal, kMedian, kP95, kMax, kRate, kColumns };

double sort_value(analyzer::KernelStats const& k, int column) {
  switch (column) {
    case kShare:
      return k.share;
    case kCount:
      return static_cast<double>(k.count);
    case kMedian:
      return static_cast<double>(k.median_ns);
    case kP95:
      return static_cast<double>(k.p95_ns);
    case kMax:
      return static_cast<double>(k.max_ns);
    case kRate:
      return k.flops_rate.value_or(-1);
    default:
      return static_cast<double>(k.total_ns);
  }
}

/// Pointers into Analysis::kernels in the order that the table asks for.
std::vector<analyzer::KernelStats const*> sorted(Scene const& scene, uint32_t device) {
  std::vector<analyzer::KernelStats const*> result;
  for (auto const& kernel : scene.analysis.kernels)
    if (device >= scene.analysis.devices.size() || kernel.ref == scene.analysis.devices[device].ref)
      result.push_back(&kernel);

  ImGuiTableSortSpecs const* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || specs->SpecsCount == 0) return result;
  int const column = specs->Specs[0].ColumnIndex;
  bool const ascending = specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending;

  std::stable_sort(result.begin(), result.end(), [&](auto const* a, auto const* b) {
    if (!ascending) std::swap(a, b);
    return column == kName ? a->name < b->name : sort_value(*a, column) < sort_value(*b, column);
  });
  return result;
}

void row(ViewState& state, analyzer::KernelStats const& kernel) {
  Surface const& s = surface(state.theme);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  swatch(paint_colour(paint_of(kernel.kind), state.theme));
  std::string const name = printable_name(kernel.name);

  ImGui::PushID(&kernel);
  ImVec2 const at = ImGui::GetCursorScreenPos();
  std::string const shown = fit_kernel(name, ImGui::GetContentRegionAvail().x);
  bool const is_searched = state.search.text.starts_with(query_for(name));
  if (ImGui::Selectable("##kernel", is_searched, ImGuiSelectableFlags_SpanAllColumns)) {
    search_for(state, query_for(name));
  }
  hint(name);
  ImGui::PopID();
  draw_text(*ImGui::GetWindowDrawList(), at, s.text, shown);

  std::string const rate = kernel.flops_rate ? format_flops(*kernel.flops_rate) + "/s" : "–";
  for (std::string const& value :
       {base::format_share(kernel.share), base::format_count(kernel.count),
        base::format_duration(kernel.total_ns), base::format_duration(kernel.median_ns),
        base::format_duration(kernel.p95_ns), base::format_duration(kernel.max_ns), rate}) {
    ImGui::TableNextColumn();
    text_right(value, s.text);
  }
}

}  // namespace

namespace {

void kernel_table(Scene const& scene, ViewState& state) {
  ImGuiTableFlags const flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY |
                                ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit |
                                ImGuiTableFlags_Resizable;
  float const scale = ui_scale();
  bool const is_narrow = ImGui::GetContentRegionAvail().x < kWideKernels * scale;
  if (!ImGui::BeginTable("kernels", kColumns, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);

  ImGui::TableSetupColumn("Device op", ImGuiTableColumnFlags_WidthStretch);

  ImGuiTableColumnFlags const number =
      ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_PreferSortDescending;
  ImGui::TableSetupColumn("Share", number, 66 * scale);
  ImGui::TableSetupColumn("Count", number, 66 * scale);
  ImGui::TableSetupColumn("Total", number | ImGuiTableColumnFlags_DefaultSort, 80 * scale);
  ImGui::TableSetupColumn("Median", number, 80 * scale);
  // In a narrow window the names are worth more than these.
  ImGuiTableColumnFlags const rest = is_narrow ? number | ImGuiTableColumnFlags_Disabled : number;
  for (char const* title : {"95 %", "Longest"}) ImGui::TableSetupColumn(title, rest, 80 * scale);
  ImGui::TableSetupColumn("Rate", rest, 110 * scale);
  header_row(1);

  auto const shown = sorted(scene, state.device);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(shown.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      row(state, *shown[static_cast<size_t>(i)]);
  ImGui::EndTable();
}

}  // namespace

void kernels_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;

  if (scene.analysis.kernels.empty()) {
    empty_state(scene.analysis.devices.empty()
                    ? without_device(scene, "This panel shows the kernels of devices.")
                    : "No kernels were recorded in this run.",
                state.theme);
    return;
  }
  device_chooser(scene, state);
  ImGui::BeginChild("table", ImVec2(ImGui::GetContentRegionAvail().x * 0.68F, 0));
  kernel_table(scene, state);
  ImGui::EndChild();
  ImGui::SameLine(0, 18 * ui_scale());
  ImGui::BeginChild("durations", ImVec2(0, 0));
  duration_bars(scene, state, scope.cache);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
