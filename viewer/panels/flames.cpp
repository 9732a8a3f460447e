#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/common/panel.h"
#include "viewer/queries/flame_graph.h"
#include "viewer/queries/search_query.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct FlamesCache : Background<FlameKey, FlameGraph> {};

constexpr float kFlameHeight = 19;  ///< of a box, as of a lane of the timeline
constexpr float kFlameLabel = 30;   ///< boxes narrower than this carry no name

std::string flame_name(model::Trace const& trace, FlameGraph::Box const& box) {
  std::string name = printable_name(trace.text(model::StringId{box.name}));
  return name.empty() ? "(no name)" : name;
}

/// "rank 0 · main" of a thread's node.
std::string thread_name(Scene const& scene, uint32_t node) {
  return fmt::format("rank {} · {}", scene.trace(scene.nodes[node].rank).info().rank,
                     scene.nodes[node].label);
}

void thread_chooser(Scene const& scene, ViewState& state, uint32_t shown) {
  ImGui::SetNextItemWidth(220 * ui_scale());
  if (!ImGui::BeginCombo("##thread", thread_name(scene, shown).c_str())) return;
  if (ImGui::Selectable("Follow the selection", !state.panels.thread)) state.panels.thread.reset();

  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (scene.nodes[i].kind == NodeKind::kThread) threads.push_back(i);

  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(threads.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      uint32_t const node = threads[static_cast<size_t>(i)];
      ImGui::PushID(i);
      if (ImGui::Selectable(thread_name(scene, node).c_str(), node == shown))
        state.panels.thread = node;
      ImGui::PopID();
    }
  ImGui::EndCombo();
}

void flame_tooltip(model::Trace const& trace, FlameGraph const& graph, FlameGraph::Box const& box) {
  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 36);
  heading(flame_name(trace, box));
  auto const share = [&](int64_t ns, int64_t of) {
    return base::format_share(static_cast<double>(ns) /
                              static_cast<double>(std::max<int64_t>(of, 1)));
  };

  text(fmt::format("{} in {}, {} of the thread's", base::format_duration(box.total_ns),
                   base::format_count(box.count, "call"), share(box.total_ns, graph.total_ns)));
  text(fmt::format("{} in nothing below it ({})", base::format_duration(box.self_ns),
                   share(box.self_ns, box.total_ns)));
  if (box.count > 1)
    text(base::format_duration(box.total_ns / static_cast<int64_t>(box.count)) + " a call");

  text("click: search for the name");
  ImGui::PopTextWrapPos();
  end_tooltip();
}

void draw_flames(ViewState& state, FlameGraph const& graph, model::Trace const& trace) {
  float const scale = ui_scale();
  float const height = std::round(kFlameHeight * scale);
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  std::vector<FlameItem> const items = lay_out_flames(graph, width, height);
  ImGui::InvisibleButton("flames",
                         ImVec2(width, std::max(static_cast<float>(graph.depth) * height, 1.0F)));

  bool const hovered = ImGui::IsItemHovered();
  bool const clicked = ImGui::IsItemClicked();
  ImVec2 const mouse(ImGui::GetIO().MousePos.x - at.x, ImGui::GetIO().MousePos.y - at.y);
  ImDrawList& list = *ImGui::GetWindowDrawList();

  Query const query = parse_query(state.search.text);

  for (FlameItem const& item : items) {
    FlameGraph::Box const& box = graph.boxes[item.box];
    float const x0 = at.x + std::floor(item.x0);
    float const x1 =
        std::max(at.x + std::floor(item.x1) - (item.x1 - item.x0 > 4 ? 1.0F : 0.0F), x0 + 1);
    uint32_t colour = paint_colour(paint_of(box.kind), state.theme,
                                   static_cast<uint8_t>(box.name * 2654435761U >> 30U));
    bool const faded =
        !query.is_empty() && !query.matches_name(trace.text(model::StringId{box.name}));
    if (faded) colour = with_alpha(colour, 0.3F);

    list.AddRectFilled(ImVec2(x0, at.y + item.y0), ImVec2(x1, at.y + item.y1 - 1), colour);
    if (x1 - x0 >= kFlameLabel * scale)
      draw_text(list,
                ImVec2(x0 + 4 * scale,
                       std::round(at.y + (item.y0 + item.y1 - 1 - ImGui::GetFontSize()) / 2)),
                faded ? surface(state.theme).text_dim : text_on(colour),
                fit_bar(short_name(flame_name(trace, box)), x1 - x0 - 8 * scale));

    if (!hovered || mouse.x < item.x0 || mouse.x >= std::max(item.x1, item.x0 + 1) ||
        mouse.y < item.y0 || mouse.y >= item.y1)
      continue;

    list.AddRect(ImVec2(x0, at.y + item.y0), ImVec2(x1, at.y + item.y1 - 1),
                 surface(state.theme).text);
    flame_tooltip(trace, graph, box);
    if (clicked) search_for(state, query_for(flame_name(trace, box)));
  }
}

}  // namespace

void flames_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  std::optional<uint32_t> thread =
      state.panels.thread ? state.panels.thread : default_thread(scene, state);
  if (!thread || *thread >= scene.nodes.size()) {
    empty_state("No thread of the program was recorded in this run.", state.theme);
    return;
  }

  thread_chooser(scene, state, *thread);
  TimeWindow const range = state.range.value_or(state.window);

  auto& cache = scope.cache.of<FlamesCache>();
  FlameGraph const* graph =
      cache.ask({*thread, range}, [&scene](FlameKey const& key, std::stop_token const& stop) {
        return flame_graph(scene, key, stop);
      });
  bool const computing = graph == nullptr;
  // An older graph of another thread would have its names wrong.
  bool const same_thread = cache.latest_key() != nullptr && cache.latest_key()->node == *thread;
  if (computing && same_thread) graph = cache.latest();

  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (graph == nullptr) {
    text_coloured("adding up…", surface(state.theme).text_dim);
    return;
  }
  text_coloured(
      fmt::format("{}, {} in events, {}{}", format_time_range(range.begin, range.end),
                  base::format_duration(graph->total_ns),
                  base::format_count(graph->events, "event"), computing ? "  (adding up…)" : ""),
      state.range ? surface(state.theme).accent : surface(state.theme).text_dim);

  if (graph->is_too_long) {
    empty_state("The range has more events than Stepscope reads at once: zoom in, or mark a range.",
                state.theme);
    return;
  }
  if (graph->boxes.empty()) {
    empty_state("This thread recorded nothing in this time.", state.theme);
    return;
  }

  ImGui::BeginChild("graph");
  draw_flames(state, *graph, scene.trace(scene.nodes[*thread].rank));
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
