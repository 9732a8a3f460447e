#include "viewer/main_window/ui.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <imgui.h>

#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/timeline/timeline.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

constexpr float kTopBar = 40, kSteps = 78, kOverview = 34, kSplitter = 5;  ///< heights at scale 1

struct TabName {
  Tab tab;
  char const* title;
  char const* name;
};
constexpr std::array kTabs =
    std::to_array<TabName>({{Tab::kComparison, "Comparison", "comparison"},
                            {Tab::kStatistics, "Statistics", "statistics"},
                            {Tab::kKernels, "Kernels", "kernels"},
                            {Tab::kCommunication, "Communication", "communication"},
                            {Tab::kPath, "Critical path", "path"},
                            {Tab::kFlame, "Flame graph", "flames"},
                            {Tab::kMemory, "Memory", "memory"},
                            {Tab::kRun, "Run", "run"},
                            {Tab::kNotes, "Notes", "notes"},
                            {Tab::kLaunches, "Launches & copies", "launches"},
                            {Tab::kPhases, "Phases & pipelines", "phases"},
                            {Tab::kDevices, "Devices", "devices"},
                            {Tab::kScaling, "Scaling", "scaling"}});

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
  bool const held = ImGui::IsItemActive();
  if (ImGui::IsItemHovered() || held)
    ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  ImU32 const colour = ImGui::GetColorU32(held                     ? ImGuiCol_SeparatorActive
                                          : ImGui::IsItemHovered() ? ImGuiCol_SeparatorHovered
                                                                   : ImGuiCol_Separator);
  ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                            colour);
  if (!held) return 0;
  return (vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y) / ui_scale();
}

bool needs_analysis(Tab tab) {
  return tab == Tab::kKernels || tab == Tab::kCommunication || tab == Tab::kPath ||
         tab == Tab::kMemory || tab == Tab::kLaunches || tab == Tab::kPhases ||
         tab == Tab::kDevices;
}

void tab_button(TabName const& entry, ViewState& state) {
  bool const active = entry.tab == state.panels.tab;
  ImGui::PushStyleColor(
      ImGuiCol_Button, active ? surface(state.theme).line_strong : surface(state.theme).background);
  ImGui::PushStyleColor(ImGuiCol_Text,
                        active ? surface(state.theme).text : surface(state.theme).text_dim);
  if (ImGui::Button(entry.title)) state.panels.tab = entry.tab;
  ImGui::PopStyleColor(2);
  ImGui::SameLine(0, 2 * ui_scale());
}

/// Those that find no room in the line are in a list at its end; the one that is open always has
/// its place.
void tab_strip(ViewState& state, bool has_series, bool is_compared) {
  // What needs more than one run is offered where there is more than one; the menu has it always.
  auto const is_offered = [&](TabName const& entry) {
    if (entry.tab == Tab::kComparison) return is_compared;
    return entry.tab == state.panels.tab || entry.tab != Tab::kScaling || has_series;
  };
  float const gap = 2 * ui_scale();
  auto const width_of = [&](TabName const& entry) {
    return ImGui::CalcTextSize(entry.title).x + 2 * ImGui::GetStyle().FramePadding.x + gap;
  };
  float all = 0, open = 0;
  for (TabName const& entry : kTabs) {
    if (is_offered(entry)) all += width_of(entry);
    if (entry.tab == state.panels.tab) open = width_of(entry);
  }
  float room = ImGui::GetContentRegionAvail().x;
  bool const all_fit = all <= room;
  if (!all_fit) room -= ImGui::GetFrameHeight() + gap + open;
  std::vector<TabName const*> others;
  for (TabName const& entry : kTabs) {
    if (!is_offered(entry)) continue;
    bool const is_open = entry.tab == state.panels.tab;
    if (!all_fit && !is_open && (!others.empty() || width_of(entry) > room)) {
      others.push_back(&entry);
      continue;
    }
    if (!is_open) room -= width_of(entry);
    tab_button(entry, state);
  }
  if (!others.empty() && ImGui::ArrowButton("more panels", ImGuiDir_Down))
    ImGui::OpenPopup("panels");
  if (others.empty()) ImGui::NewLine();
  if (!ImGui::BeginPopup("panels")) return;
  for (TabName const* const entry : others)
    if (ImGui::Selectable(entry->title)) state.panels.tab = entry->tab;
  ImGui::EndPopup();
}

/// Of two runs the base is the one that may be of a series, whichever is in front.
void scaling_panel(ActionScope const& scope, Memo& memo) {
  if (scope.pair == nullptr) return scaling(scope.scene, scope.state, memo, scope.outside);
  RunPair::View const base = scope.pair->view(RunSide::kBase);
  scaling(base.scene, base.state, base.memo, scope.outside);
  // A click there opens another panel.
  scope.state.panels.tab = base.state.panels.tab;
}

void tabs(ActionScope const& scope, Memo& memo) {
  auto const& [scene, state, rows_height, outside, pair] = scope;
  bool const has_series = scene.series != nullptr ||
                          (pair != nullptr && pair->view(RunSide::kBase).scene.series != nullptr);
  tab_strip(state, has_series, pair != nullptr);
  Tab const shown = state.panels.tab;
  ImGui::BeginChild("panel");
  if (!scene.is_analyzed && needs_analysis(shown)) {
    empty_state(printable_name(scene.analysis_words), state.theme);
    ImGui::EndChild();
    return;
  }
  switch (shown) {
    case Tab::kStatistics:
      statistics(scene, state, memo);
      break;
    case Tab::kKernels:
      kernels(scene, state, memo);
      break;
    case Tab::kCommunication:
      communication(scene, state, memo, rows_height);
      break;
    case Tab::kPath:
      critical_path(scene, state, memo, rows_height);
      break;
    case Tab::kFlame:
      flames(scene, state, memo);
      break;
    case Tab::kMemory:
      memory(scene, state, memo);
      break;
    case Tab::kRun:
      run_info(scene, state);
      break;
    case Tab::kNotes:
      notes(scene, state, outside != nullptr ? outside->kept_in : std::string());
      break;
    case Tab::kLaunches:
      launches(scene, state, rows_height);
      break;
    case Tab::kPhases:
      phases(scene, state, rows_height);
      break;
    case Tab::kDevices:
      devices(scene, state, rows_height);
      break;
    case Tab::kScaling:
      scaling_panel(scope, memo);
      break;
    case Tab::kComparison:
      if (pair != nullptr) comparison_panel(*pair);
      break;
  }
  ImGui::EndChild();
}

void side(Scene const& scene, ViewState& state, float rows_height) {
  float const height = ImGui::GetContentRegionAvail().y;
  begin_panel("findings", ImVec2(0, height * 0.56F));
  findings(scene, state, rows_height);
  end_panel();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + 1),
      surface(state.theme).line_strong);
  begin_panel("details", ImVec2(0, 0));
  details(scene, state, rows_height);
  end_panel();
}

/// Hits of what was typed or clicked, as soon as they are there.
void update_search(Scene const& scene, ViewState& state, Memo& memo) {
  if (!state.search.pending) return;
  // Each search has a feed of its own: what an earlier one still finds is nobody's.
  if (!memo.search_feed || memo.searched != state.search.text) {
    memo.search_feed = std::make_shared<SearchFeed>();
    memo.searched = state.search.text;
  }
  auto const work = [&scene, feed = memo.search_feed](std::string const& text,
                                                      std::stop_token const& stop) {
    return find_hits(scene, text, stop, feed.get());
  };
  SearchHits const* const found = memo.search.ask(state.search.text, work);
  if (found != nullptr) {
    show_first_hits(state, *found);
    state.search.pending = false;
  } else if (auto first = memo.search_feed ? memo.search_feed->take() : std::nullopt) {
    show_first_hits(state, std::move(*first));
  }
}

/// Of two runs beside each other.
float both_timelines(RunPair& pair, Outside* outside) {
  auto const path_of = [](RunPair::View const& run) {
    return run.state.panels.path ? path_so_far(run.scene, run.memo) : nullptr;
  };
  return compared_timelines(pair, path_of(pair.view(RunSide::kBase)),
                            path_of(pair.view(RunSide::kNew)), outside);
}

/// Step strip, overview, timeline and the tabs below it. Returns the height of the timeline's rows.
float main_column(ActionScope const& scope, Memo& memo) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  float const scale = ui_scale();
  if (scope.pair != nullptr) {
    step_pairs(*scope.pair, kSteps * scale);
  } else {
    step_strip(scene, state, kSteps * scale);
  }
  overview(scene, state, memo, kOverview * scale);
  float const room = ImGui::GetContentRegionAvail().y;
  // The timeline keeps at least a third of what there is.
  float const bottom =
      std::clamp(state.panels.bottom_height * scale, 0.0F, std::max(room, 0.0F) * 0.6F);
  ImGui::BeginChild("timeline", ImVec2(0, std::max(room - bottom - kSplitter * scale, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  PathLine const* const path = state.panels.path ? path_so_far(scene, memo) : nullptr;
  float const rows_height = scope.pair != nullptr ? both_timelines(*scope.pair, scope.outside)
                                                  : timeline(scene, state, path);
  ImGui::EndChild();
  state.panels.bottom_height -= splitter(
      "height", ImVec2(std::max(ImGui::GetContentRegionAvail().x, 1.0F), kSplitter * scale), false);
  state.panels.bottom_height =
      std::clamp(state.panels.bottom_height, 60.0F, std::max(room / scale, 60.0F));
  begin_panel("bottom", ImVec2(0, 0));
  tabs(scope, memo);
  end_panel();
  return rows_height;
}

/// The window, whose panels show one run.
void draw_whole_window(Scene const& scene, ViewState& state, Memo& memo, Outside* outside,
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
  ActionScope const scope{scene, state, rows, outside, pair};
  update_search(scene, state, memo);
  update_same_name(scene, state, memo);
  fade_flash(state, io.DeltaTime);
  begin_panel("top", ImVec2(0, kTopBar * scale), ImGuiWindowFlags_NoScrollbar);
  top_bar(scope);
  end_panel();
  float const side_width =
      std::clamp(state.panels.side_width * scale, 0.0F, io.DisplaySize.x * 0.5F);
  ImGui::BeginChild("main",
                    ImVec2(std::max(io.DisplaySize.x - side_width - kSplitter * scale, 1.0F), 0),
                    false, ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  main_column(scope, memo);
  ImGui::EndChild();
  ImGui::SameLine(0, 0);
  state.panels.side_width -= splitter(
      "width", ImVec2(kSplitter * scale, std::max(ImGui::GetContentRegionAvail().y, 1.0F)), true);
  state.panels.side_width = std::clamp(state.panels.side_width, 120.0F,
                                       std::max(io.DisplaySize.x / scale * 0.5F, 120.0F));
  ImGui::SameLine(0, 0);
  ImGui::BeginChild("side");
  side(scene, state, rows);
  ImGui::EndChild();
  ImGui::End();
  ImGui::PopStyleVar(2);
  help(state);
  track_finder(scene, state, rows);
  if (outside != nullptr && !(outside->notice.empty() && outside->file_notice.empty()))
    notice(*outside, state.theme);
  if (!menu_is_open) read_keys(scope);
  // What this frame asked for is looked for at once: what is quickly found is there in the next
  // frame.
  update_search(scene, state, memo);
  update_same_name(scene, state, memo);
}

}  // namespace

void draw_ui(Scene const& scene, ViewState& state, Memo& memo, Outside* outside, RunPair* pair) {
  if (scene.far) scene.far->tiles().begin_frame();
  if (pair == nullptr) {
    if (state.panels.tab == Tab::kComparison) state.panels.tab = Tab::kStatistics;
    return draw_whole_window(scene, state, memo, outside, nullptr);
  }
  pair->begin_frame(scene, state, memo);
  RunPair::View const shown = pair->front();
  RunPair::View const other =
      pair->view(pair->front_side() == RunSide::kBase ? RunSide::kNew : RunSide::kBase);
  fade_flash(other.state, ImGui::GetIO().DeltaTime);
  draw_whole_window(shown.scene, shown.state, shown.memo, outside, pair);
  pair->end_frame();
  update_search(other.scene, other.state, other.memo);
}

bool show_panel(ViewState& state, std::string_view name) {
  // These two are always on the screen.
  if (name == "findings" || name == "details") return true;
  for (TabName const& entry : kTabs) {
    if (name != entry.name) continue;
    state.panels.tab = entry.tab;
    // Whoever asks for the path by name wants to see it.
    if (entry.tab == Tab::kPath) state.panels.path = true;
    return true;
  }
  return false;
}

std::string panel_names() {
  std::string names = "findings, details";
  for (TabName const& entry : kTabs)
    names += std::string(&entry == &kTabs.back() ? " or " : ", ") + entry.name;
  return names;
}

}  // namespace stepscope::viewer
