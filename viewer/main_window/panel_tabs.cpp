// The line of tabs, and the panel in front below it.
#include <span>
#include <vector>

#include <imgui.h>

#include "viewer/main_window/key_focus.h"
#include "viewer/main_window/parts.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

bool has_series(PanelScope const& scope) {
  if (scope.scene.series != nullptr) return true;
  return scope.pair != nullptr && scope.pair->view(RunSide::kBase).scene.series != nullptr;
}

/// A panel that needs more than one run has a tab where there is more than one. The menu always has
/// it.
bool is_offered(Panel const& panel, PanelScope const& scope) {
  if (panel.needs == PanelNeeds::kPair) return scope.pair != nullptr;
  if (panel.needs == PanelNeeds::kSeries)
    return has_series(scope) || scope.state.panels.tab.id == panel.id;
  return true;
}

float tab_gap() { return 2 * ui_scale(); }

float tab_width(Panel const& panel) {
  return ImGui::CalcTextSize(panel.title).x + 2 * ImGui::GetStyle().FramePadding.x + tab_gap();
}

void tab_button(Panel const& panel, ViewState& state) {
  Surface const& colours = surface(state.theme);
  bool const is_open = state.panels.tab.id == panel.id;

  ImGui::PushStyleColor(ImGuiCol_Button, is_open ? colours.line_strong : colours.background);
  ImGui::PushStyleColor(ImGuiCol_Text, is_open ? colours.text : colours.text_dim);
  if (ImGui::Button(panel.title)) state.panels.tab = Tab{panel.id};
  ImGui::PopStyleColor(2);
  ImGui::SameLine(0, tab_gap());
}

/// Draws the tabs that fit into the line, the open one always. Returns the others.
std::vector<Panel const*> draw_fitting_tabs(std::span<Panel const* const> offered,
                                            ViewState& state) {
  auto const is_open = [&](Panel const& panel) { return state.panels.tab.id == panel.id; };
  float all = 0;
  float open = 0;
  for (Panel const* const panel : offered) {
    all += tab_width(*panel);
    if (is_open(*panel)) open = tab_width(*panel);
  }

  // The open tab and the button of the list have their room before the others.
  float room = ImGui::GetContentRegionAvail().x;
  bool const all_fit = all <= room;
  if (!all_fit) room -= ImGui::GetFrameHeight() + tab_gap() + open;

  std::vector<Panel const*> others;
  for (Panel const* const panel : offered) {
    bool const fits = all_fit || is_open(*panel) || (others.empty() && tab_width(*panel) <= room);
    if (!fits) {
      others.push_back(panel);
      continue;
    }
    if (!is_open(*panel)) room -= tab_width(*panel);
    tab_button(*panel, state);
  }
  return others;
}

/// Tabs without room are in a list at the end of the line.
void tab_strip(PanelScope const& scope) {
  std::vector<Panel const*> offered;
  for (Panel const& panel : all_panels())
    if (is_offered(panel, scope)) offered.push_back(&panel);

  std::vector<Panel const*> const others = draw_fitting_tabs(offered, scope.state);
  if (others.empty()) {
    ImGui::NewLine();
  } else if (ImGui::ArrowButton("more panels", ImGuiDir_Down)) {
    ImGui::OpenPopup("panels");
  }

  if (!ImGui::BeginPopup("panels")) return;
  for (Panel const* const panel : others)
    if (ImGui::Selectable(panel->title)) scope.state.panels.tab = Tab{panel->id};
  ImGui::EndPopup();
}

}  // namespace

void panel_tabs(PanelScope const& scope) {
  tab_strip(scope);

  ImGui::BeginChild("panel");
  take_keys(scope.state, KeyPlace::kPanel);
  Panel const* const panel = find_panel(scope.state.panels.tab.id);
  if (panel != nullptr && panel->needs == PanelNeeds::kAnalysis && !scope.scene.has_analysis()) {
    empty_state(printable_name(*scope.scene.missing_analysis), scope.state.theme);
  } else if (panel != nullptr) {
    panel->draw(scope);
  }
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
