#include "viewer/main_window/ui.h"

#include <algorithm>
#include <vector>

#include <imgui.h>

#include "viewer/event_store/event_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/main_window/key_focus.h"
#include "viewer/main_window/parts.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/panels/critical_path.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/panels/what_if/predictions.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/timeline.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

constexpr float kTopBar = 40, kSteps = 78, kOverview = 34, kSplitter = 5;  ///< heights at scale 1

/// The window itself is without paddings, its panels have them.
void begin_panel(char const* name, ImVec2 size, ImGuiWindowFlags flags = 0) {
  float const scale = ui_scale();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * scale, 7 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * scale, 5 * scale));
  ImGui::BeginChild(name, size, false, flags | ImGuiWindowFlags_AlwaysUseWindowPadding);
}

void end_panel() {
  ImGui::EndChild();
  ImGui::PopStyleVar(2);
}

/// A bar to drag between two panels; returns how far it was dragged, in pixels at scale 1.
float splitter(char const* id, ImVec2 size, bool vertical) {
  ImGui::InvisibleButton(id, size);
  bool const is_dragged = ImGui::IsItemActive();
  bool const is_hovered = ImGui::IsItemHovered();
  if (is_hovered || is_dragged)
    ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);

  ImGuiCol colour = is_hovered ? ImGuiCol_SeparatorHovered : ImGuiCol_Separator;
  if (is_dragged) colour = ImGuiCol_SeparatorActive;
  ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                            ImGui::GetColorU32(colour));
  if (!is_dragged) return 0;
  return (vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y) / ui_scale();
}

/// Findings take the height that they need, and leave some to the details: little, while nothing is
/// selected.
void side(Scene const& scene, ViewState& state, float rows_height) {
  float const most_of_findings = state.selection ? 0.62F : 0.8F;
  float const height = ImGui::GetContentRegionAvail().y;
  // What they need is known once they are drawn: it is that of the frame before.
  float* const needed =
      ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID("findings' height"), height / 2);
  begin_panel("findings", ImVec2(0, std::min(*needed, height * most_of_findings)));
  take_keys(state, KeyPlace::kFindings);
  findings(scene, state, rows_height);
  mark_keys(state, KeyPlace::kFindings);
  *needed = ImGui::GetCursorPosY() + ImGui::GetStyle().WindowPadding.y;
  end_panel();

  ImVec2 const at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + 1),
      surface(state.theme).line_strong);

  begin_panel("details", ImVec2(0, 0));
  take_keys(state, KeyPlace::kDetails);
  details(scene, state, rows_height);
  if (!state.selection) draw_first_keys(state.theme);
  mark_keys(state, KeyPlace::kDetails);
  end_panel();
}

/// The timelines of two runs, one above the other.
float both_timelines(RunPair& pair, WindowRequests* requests) {
  auto const path_of = [](RunPair::View const& run) {
    return run.state.panels.path ? path_so_far(run.scene, run.cache) : nullptr;
  };
  return compared_timelines(pair, path_of(pair.view(RunSide::kBase)),
                            path_of(pair.view(RunSide::kNew)), requests);
}

/// Step strip, overview, timeline and the tabs below it. Returns the height of the timeline's rows.
float main_column(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  float const scale = ui_scale();
  std::vector<Scene const*> scenes = {&scene};
  if (scope.pair != nullptr)
    scenes = {&scope.pair->view(RunSide::kBase).scene, &scope.pair->view(RunSide::kNew).scene};
  fit_gutter(scenes, ImGui::GetContentRegionAvail().x);

  if (scope.pair != nullptr) {
    step_pairs(*scope.pair, kSteps * scale);
  } else {
    step_strip(scene, state, kSteps * scale);
  }
  overview(scene, state, scope.cache, kOverview * scale);

  float const room = ImGui::GetContentRegionAvail().y;
  // The timeline keeps at least a third of what there is.
  float const bottom =
      std::clamp(state.panels.bottom_height * scale, 0.0F, std::max(room, 0.0F) * 0.6F);

  ImGui::BeginChild("timeline", ImVec2(0, std::max(room - bottom - kSplitter * scale, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  PathLine const* const path = state.panels.path ? path_so_far(scene, scope.cache) : nullptr;
  TimelineLook look;
  look.ghosts = shown_ghosts(state, scope.cache);
  float const rows_height = scope.pair != nullptr
                                ? both_timelines(*scope.pair, scope.window.requests)
                                : timeline(scene, state, path, look);
  ImGui::EndChild();

  state.panels.bottom_height -= splitter(
      "height", ImVec2(std::max(ImGui::GetContentRegionAvail().x, 1.0F), kSplitter * scale), false);
  state.panels.bottom_height =
      std::clamp(state.panels.bottom_height, 60.0F, std::max(room / scale, 60.0F));

  begin_panel("bottom", ImVec2(0, 0));
  panel_tabs(scope);
  mark_keys(state, KeyPlace::kPanel);
  end_panel();
  return rows_height;
}

/// The findings and details at the right, with the splitter before them.
void side_column(Scene const& scene, ViewState& state, float rows_height) {
  ImGuiIO const& io = ImGui::GetIO();
  float const scale = ui_scale();
  ImGui::SameLine(0, 0);
  state.panels.side_width -= splitter(
      "width", ImVec2(kSplitter * scale, std::max(ImGui::GetContentRegionAvail().y, 1.0F)), true);
  state.panels.side_width = std::clamp(state.panels.side_width, 120.0F,
                                       std::max(io.DisplaySize.x / scale * 0.5F, 120.0F));

  ImGui::SameLine(0, 0);
  ImGui::BeginChild("side");
  side(scene, state, rows_height);
  ImGui::EndChild();
}

/// The window, whose panels show one run.
void draw_whole_window(Scene const& scene, ViewState& state, PanelCache& cache, WindowLink window,
                       RunPair* pair) {
  float const scale = ui_scale();
  ImGuiIO const& io = ImGui::GetIO();
  // An open menu has the keys for itself, also the one that closes it.
  bool const menu_is_open =
      ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);

  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(io.DisplaySize);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGuiWindowFlags const flags =
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
      ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::Begin("Stepscope", nullptr, flags);

  // Panels reveal tracks in the rows' height of the frame before: it changes only while a splitter
  // moves.
  float const whole = std::max(
      io.DisplaySize.y / scale - kTopBar - kSteps - kOverview - state.panels.bottom_height - 60,
      40.0F);
  float const rows = pair != nullptr ? compared_rows_height(*pair, whole) : whole;
  PanelScope const panel_scope{scene, state, cache, rows, window, pair};
  ActionScope const scope{scene, state, rows, window, pair};

  update_search(scene, state, cache);
  update_same_name(scene, state, cache);
  update_what_if(scene, state, cache, pair == nullptr);
  fade_flash(state, io.DeltaTime);

  begin_keys(state);
  begin_panel("top", ImVec2(0, kTopBar * scale), ImGuiWindowFlags_NoScrollbar);
  top_bar(scope);
  end_panel();

  float const side_width =
      std::clamp(state.panels.side_width * scale, 0.0F, io.DisplaySize.x * 0.5F);
  ImGui::BeginChild("main",
                    ImVec2(std::max(io.DisplaySize.x - side_width - kSplitter * scale, 1.0F), 0),
                    false, ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  main_column(panel_scope);
  ImGui::EndChild();

  side_column(scene, state, rows);
  ImGui::End();
  ImGui::PopStyleVar(2);

  help(state);
  track_finder(scope);
  notice(window, state.theme);

  if (!menu_is_open) read_keys(scope);
  // What this frame asked for is looked for at once: what is quickly found is there in the next
  // frame.
  update_search(scene, state, cache);
  update_same_name(scene, state, cache);
}

}  // namespace

void draw_ui(Scene const& scene, ViewState& state, PanelCache& cache, WindowLink window,
             RunPair* pair) {
  scene.store->begin_frame();
  if (pair == nullptr) {
    if (state.panels.tab == Tab::kComparison) state.panels.tab = Tab::kStatistics;
    return draw_whole_window(scene, state, cache, window, nullptr);
  }

  pair->begin_frame(scene, state, cache);
  RunPair::View const shown = pair->front();
  RunPair::View const other =
      pair->view(pair->front_side() == RunSide::kBase ? RunSide::kNew : RunSide::kBase);
  fade_flash(other.state, ImGui::GetIO().DeltaTime);
  draw_whole_window(shown.scene, shown.state, shown.cache, window, pair);

  pair->end_frame();
  update_search(other.scene, other.state, other.cache);
}

}  // namespace stepscope::viewer
