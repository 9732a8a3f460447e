#include "tests/fuzz/look_at_trace.h"

#include <array>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/import/open/open_run.h"
#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/event_store/out_of_core/path.h"
#include "viewer/event_store/out_of_core/same_name.h"
#include "viewer/event_store/out_of_core/search.h"
#include "viewer/event_store/out_of_core/statistics.h"
#include "viewer/interaction/navigate.h"
#include "viewer/loading/open_task.h"
#include "viewer/queries/duration_histogram.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/layout.h"
#include "viewer/timeline/unread_rows.h"

namespace stepscope::fuzz {
namespace {

using viewer::Scene;
using viewer::TimeWindow;
using viewer::ViewState;

constexpr viewer::Viewport kViewport{300, 400, 1};

/// The whole run, its first thousandth and its end.
std::array<TimeWindow, 3> windows_of(Scene const& scene) {
  auto const length = static_cast<double>(scene.length);
  return {TimeWindow{0, length}, TimeWindow{0, length / 1000 + 1},
          TimeWindow{length * 0.9, length}};
}

void describe_items(Scene const& scene, viewer::Layout const& layout) {
  constexpr uint32_t kMostItems = 16;  // of a row
  for (viewer::Row const& row : layout.rows)
    for (uint32_t i = row.first_item; i < row.last_item && i < row.first_item + kMostItems; ++i)
      viewer::describe_item(scene, row, layout.items[i]);
}

void look_at(Scene const& scene) {
  ViewState state = viewer::initial_view(scene);
  std::optional<viewer::Selection> first;
  for (TimeWindow const window : windows_of(scene)) {
    viewer::go_to(state, scene, window);
    scene.store->begin_frame();
    viewer::want_events(scene, state, viewer::lay_out(scene, state, kViewport));
    scene.store->finish_reading();
    scene.store->begin_frame();

    auto const layout = viewer::lay_out(scene, state, kViewport);
    describe_items(scene, layout);

    for (viewer::Row const& row : layout.rows)
      for (uint32_t i = row.first_item; i < row.last_item && !first; ++i)
        if (layout.items[i].kind == viewer::ItemKind::kEvent)
          first =
              scene.selection_of(scene.nodes[row.node].rank, row.trace(), layout.items[i].index);
  }

  if (!first) return;
  viewer::select(state, scene, *first);
  viewer::lay_out(scene, state, kViewport);
  viewer::zoom_to_selection(state, scene);
  viewer::step_same_name(state, scene, 1);
  viewer::follow_link(state, scene, kViewport.height);
  viewer::follow_collective(state, scene, kViewport.height);
}

void search_out_of_core(Scene const& scene) {
  std::stop_token const never;
  for (char const* const text : {"op", "kind:kernel", ">1us"}) {
    auto const found = viewer::find_hits_in_files(scene, viewer::parse_query(text), never);
    if (found.hits.empty()) continue;
    viewer::find_same_name_in_files(scene, {found.hits.front(), 1, {}}, never);
    viewer::find_same_name_in_files(scene, {found.hits.back(), -1, "op 1"}, never);
  }
  for (TimeWindow const window : windows_of(scene))
    viewer::statistics_of_files(scene, window, never);
}

}  // namespace

bool look_in_memory(std::string const& path) {
  auto run = import::open_run(path);
  if (!run) return false;
  auto analysis = analyzer::analyze(*run);
  Scene const scene = viewer::make_scene(std::move(*run), std::move(analysis));
  look_at(scene);
  for (TimeWindow const window : windows_of(scene)) viewer::range_statistics(scene, window);
  return true;
}

bool look_out_of_core(std::string const& path, bool is_analyzed) {
  std::array const paths = {path};
  auto opened = import::open_sources(paths, {0, 0});
  if (!opened || opened->ranks.empty() || opened->ranks.front().source.is_in_memory()) return false;
  auto const sources = std::make_shared<import::RunSources>(std::move(*opened));
  auto const scene = viewer::open_out_of_core(sources);
  if (!scene) return false;
  look_at(**scene);
  search_out_of_core(**scene);
  if (!is_analyzed) return true;

  viewer::OutOfCoreAnalysis analysis(sources, true);
  analysis.finish();
  auto result = analysis.take();
  if (!result) return true;
  viewer::take_analysis(**scene, std::move(*result));
  look_at(**scene);
  search_out_of_core(**scene);
  for (auto const& device : (*scene)->analysis.devices)
    viewer::durations_in_files(**scene, {device.ref, "op 1"}, {});
  viewer::PathFeed feed;
  viewer::find_path_in_files(**scene, feed, {}, 1000);
  return true;
}

}  // namespace stepscope::fuzz
