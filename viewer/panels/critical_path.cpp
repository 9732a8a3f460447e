#include "viewer/panels/critical_path.h"

#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "analyzer/metrics/critical_path/path_part.h"
#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/event_store/event_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/common/panel.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct PathCache {
  Background<int, PathLine> line;  ///< one key; gives only its end where the run is not in memory
  std::shared_ptr<PathFeed> feed;  ///< of such a run
  PathLine from_files;             ///< what the feed has given so far

  bool is_busy() { return line.is_busy(); }
  void finish() { line.finish(); }
};

char const* path_words(analyzer::PathClass path_class) {
  return path_class == analyzer::PathClass::kPeer ? "waiting for peers"
                                                  : analyzer::to_string(path_class);
}

/// One bar over the whole width: what the path is made of.
void class_bar(analyzer::CriticalPathStats const& path, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  float const height = 14 * scale;

  double const whole = static_cast<double>(std::max<int64_t>(path.window.length(), 1));
  float x = at.x;
  for (int i = 0; i < analyzer::kPathClassCount; ++i) {
    int64_t const time = path.by_class[static_cast<size_t>(i)];
    if (time <= 0) continue;
    float const next = x + width * static_cast<float>(static_cast<double>(time) / whole);
    ImGui::GetWindowDrawList()->AddRectFilled(
        ImVec2(x, at.y), ImVec2(std::max(next - 1, x + 1), at.y + height),
        paint_colour(paint_of(static_cast<analyzer::PathClass>(i)), theme));
    x = next;
  }

  ImGui::Dummy(ImVec2(width, height));
}

void class_list(analyzer::CriticalPathStats const& path, Theme theme) {
  std::vector<int> order;
  for (int i = 0; i < analyzer::kPathClassCount; ++i)
    if (path.by_class[static_cast<size_t>(i)] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return path.by_class[static_cast<size_t>(a)] > path.by_class[static_cast<size_t>(b)];
  });

  if (!ImGui::BeginTable("classes", 3, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("class", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, 74 * ui_scale());
  ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_WidthFixed, 60 * ui_scale());

  for (int const i : order) {
    int64_t const time = path.by_class[static_cast<size_t>(i)];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    part_swatch(paint_of(static_cast<analyzer::PathClass>(i)), theme);
    text(path_words(static_cast<analyzer::PathClass>(i)));
    ImGui::TableNextColumn();
    text_right(base::format_duration(time), surface(theme).text);
    ImGui::TableNextColumn();
    text_right(base::format_share(static_cast<double>(time) /
                                  static_cast<double>(std::max<int64_t>(path.window.length(), 1))),
               surface(theme).text);
  }
  ImGui::EndTable();
}

/// To the right of the switch: how far the search is, or the button that goes to the line.
void show_line(PanelScope const& scope) {
  ViewState& state = scope.state;
  PathLine const* const line = path_so_far(scope.scene, scope.cache);
  auto const& cache = scope.cache.of<PathCache>();

  if (cache.line.latest() == nullptr) {
    std::string const share = cache.feed ? fmt::format(" {:.0f} %", 100 * cache.feed->share()) : "";
    text_coloured("finding it…" + share, surface(state.theme).text_dim);
  } else if (line != nullptr && ImGui::SmallButton("Go to it")) {
    go_to_path(state, scope.scene, *line, scope.rows_height);
  }
}

void path_summary(PanelScope const& scope, analyzer::CriticalPathStats const& path) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  heading("What the time is made of");
  class_bar(path, state.theme);

  bool shown = state.panels.path;
  if (ImGui::Checkbox("Show on the timeline", &shown)) state.panels.path = shown;
  hint("P");
  if (shown) {
    ImGui::SameLine();
    show_line(scope);
  }
  // The line's own search follows the path through each stretch that is shown.
  if (!analyzer::is_path_of_all(scene.run, scene.analysis))
    text_wrapped("These numbers cover the steps in the middle; the line covers the whole run.",
                 surface(state.theme).text_dim);

  class_list(path, state.theme);
  Surface const& s = surface(state.theme);
  text_wrapped(fmt::format("{} device ops, {} from rank to rank", base::format_count(path.ops),
                           base::format_count(path.jumps, "jump")),
               s.text_dim);
  if (path.guessed_waits > 0)
    text_wrapped(fmt::format("for {} of them the recording lacks what they waited for",
                             base::format_count(path.guessed_waits)),
                 s.text_dim);
  if (path.clock_disagreement_ns > 0 && scene.run.ranks.size() > 1)
    text_wrapped(fmt::format("the ranks' clocks contradict each other by up to {}",
                             base::format_duration(path.clock_disagreement_ns)),
                 s.text_dim);
}

/// A cell with the class's colour and a name that a click searches for.
void name_cell(ViewState& state, analyzer::PathClass path_class,
               std::optional<std::string> const& name, void const* id) {
  part_swatch(paint_of(path_class), state.theme);
  std::string const words =
      name ? printable_name(*name) : fmt::format("({})", path_words(path_class));

  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const room = ImGui::GetContentRegionAvail().x;
  bool const is_kernel = path_class == analyzer::PathClass::kCompute ||
                         path_class == analyzer::PathClass::kCommunication;
  std::string const shown = is_kernel ? fit_kernel(words, room) : fit(words, room);
  ImGui::PushID(id);
  bool const clicked = ImGui::Selectable("##name", false, ImGuiSelectableFlags_SpanAllColumns);
  hint(name ? fmt::format("{}: {}", path_words(path_class), words) : words);
  ImGui::PopID();
  draw_text(*ImGui::GetWindowDrawList(), at, surface(state.theme).text, shown);

  if (clicked && name) search_for(state, query_for(words));
}

void contributors(ViewState& state, analyzer::CriticalPathStats const& path) {
  heading("On the path: shorten this first");
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("contributors", 4, flags)) return;

  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Name", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("Share", ImGuiTableColumnFlags_WidthFixed, 58 * ui_scale());
  ImGui::TableSetupColumn("Time", ImGuiTableColumnFlags_WidthFixed, 72 * ui_scale());
  ImGui::TableSetupColumn("Pieces", ImGuiTableColumnFlags_WidthFixed, 60 * ui_scale());
  header_row(1);

  for (auto const& contributor : path.contributors) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    name_cell(state, contributor.path_class, contributor.name, &contributor);
    for (std::string const& value :
         {base::format_share(contributor.share), base::format_duration(contributor.ns),
          base::format_count(contributor.count)}) {
      ImGui::TableNextColumn();
      text_right(value, surface(state.theme).text);
    }
  }
  ImGui::EndTable();
}

void slack(ViewState& state, analyzer::CriticalPathStats const& path) {
  heading("Off the path: may take longer");
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("slack", 4, flags)) return;

  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Name", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("Time", ImGuiTableColumnFlags_WidthFixed, 72 * ui_scale());
  ImGui::TableSetupColumn("Least slack", ImGuiTableColumnFlags_WidthFixed, 82 * ui_scale());
  ImGui::TableSetupColumn("Median", ImGuiTableColumnFlags_WidthFixed, 72 * ui_scale());
  header_row(1);

  for (auto const& entry : path.slack_by_name) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    name_cell(state, entry.path_class, entry.name, &entry);
    for (int64_t const ns : {entry.total_ns, entry.min_ns, entry.median_ns}) {
      ImGui::TableNextColumn();
      text_right(base::format_duration(ns), surface(state.theme).text);
    }
  }
  ImGui::EndTable();
}

}  // namespace

PathLine const* path_so_far(Scene const& scene, PanelCache& panels) {
  if (!scene.has_analysis()) return nullptr;

  auto& cache = panels.of<PathCache>();
  if (!cache.feed) cache.feed = std::make_shared<PathFeed>();
  cache.line.ask(0, [&scene, feed = cache.feed](int, std::stop_token const& stop) {
    scene.store->find_path(scene, *feed, stop);
    return PathLine();
  });

  cache.feed->take(cache.from_files);
  return &cache.from_files;
}

void critical_path_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  if (!scene.analysis.critical_path) {
    empty_state(without_device(scene, "The critical path leads through the work of devices."),
                state.theme);
    return;
  }

  analyzer::CriticalPathStats const& path = *scene.analysis.critical_path;
  float const width = ImGui::GetContentRegionAvail().x;
  float const gap = 18 * ui_scale();

  ImGui::BeginChild("summary", ImVec2(width * 0.24F, 0));
  path_summary(scope, path);
  ImGui::EndChild();

  ImGui::SameLine(0, gap);
  ImGui::BeginChild("on it", ImVec2(width * 0.38F, 0));
  contributors(state, path);
  ImGui::EndChild();

  ImGui::SameLine(0, gap);
  ImGui::BeginChild("beside it", ImVec2(0, 0));
  slack(state, path);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
