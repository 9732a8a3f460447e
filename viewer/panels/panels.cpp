#include "viewer/panels/panels.h"

#include <algorithm>
#include <array>

namespace stepscope::viewer {

// A panel is a file with one of these functions, and its row below.
void comparison_panel(PanelScope const& scope);
void statistics_panel(PanelScope const& scope);
void kernels_panel(PanelScope const& scope);
void communication_panel(PanelScope const& scope);
void critical_path_panel(PanelScope const& scope);
void flames_panel(PanelScope const& scope);
void memory_panel(PanelScope const& scope);
void run_panel(PanelScope const& scope);
void notes_panel(PanelScope const& scope);
void launches_panel(PanelScope const& scope);
void phases_panel(PanelScope const& scope);
void devices_panel(PanelScope const& scope);
void scaling_panel(PanelScope const& scope);
void what_if_panel(PanelScope const& scope);

namespace {

using enum PanelNeeds;

constexpr std::array kPanels = {
    Panel{"comparison", "Comparison", 'c', kPair, comparison_panel},
    Panel{"statistics", "Statistics", '1', kNothing, statistics_panel},
    Panel{"kernels", "Kernels", '2', kAnalysis, kernels_panel},
    Panel{"communication", "Communication", '3', kAnalysis, communication_panel},
    Panel{"path", "Critical path", '4', kAnalysis, critical_path_panel},
    Panel{"flames", "Flame graph", '5', kNothing, flames_panel},
    Panel{"memory", "Memory", '6', kAnalysis, memory_panel},
    Panel{"run", "Run", '7', kNothing, run_panel},
    Panel{"notes", "Notes", '8', kNothing, notes_panel},
    Panel{"launches", "Launches & copies", '9', kAnalysis, launches_panel},
    Panel{"phases", "Phases & pipelines", '0', kAnalysis, phases_panel},
    Panel{"devices", "Devices", 0, kAnalysis, devices_panel},
    Panel{"scaling", "Scaling", 0, kSeries, scaling_panel},
    Panel{"what-if", "What-if", 'i', kAnalysis, what_if_panel},
};

}  // namespace

std::span<Panel const> all_panels() { return kPanels; }

Panel const* find_panel(std::string_view id) {
  auto const found = std::find_if(kPanels.begin(), kPanels.end(),
                                  [&](Panel const& panel) { return panel.id == id; });
  return found == kPanels.end() ? nullptr : &*found;
}

bool show_panel(ViewState& state, std::string_view name) {
  // These two are always on the screen.
  if (name == "findings" || name == "details") return true;

  Panel const* const panel = find_panel(name);
  if (panel == nullptr) return false;

  state.panels.tab = Tab{panel->id};
  // A person who asks for the path by name wants to see its line, too.
  if (state.panels.tab == Tab::kPath) state.panels.path = true;
  return true;
}

std::string panel_names() {
  std::string names = "findings, details";
  for (Panel const& panel : kPanels)
    names += std::string(&panel == &kPanels.back() ? " or " : ", ") + panel.id;
  return names;
}

}  // namespace stepscope::viewer
