// Flame graphs against sums over every event, and the places of their boxes.
#include "viewer/queries/flame_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

/// step [0, 100) with work [10, 60) → twice inner [10, 20), [30, 50), and rest [60, 90); a second
/// step [100, 150) with work alone.
Scene nested() {
  return scene_of([](model::TraceBuilder& builder) {
    auto const thread = add_thread(builder, "main");
    auto const add = [&](char const* name, int64_t begin, int64_t end) {
      builder.events(thread).add(model::EventKind::kRange, begin, end - begin,
                                 builder.intern(name));
    };

    add("step", 0, 100);
    add("work", 10, 60);
    add("inner", 10, 20);
    add("inner", 30, 50);
    add("rest", 60, 90);
    add("step", 100, 150);
    add("work", 100, 150);
  });
}

uint32_t thread_of(Scene const& scene) {
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (scene.nodes[i].kind == NodeKind::kThread) return i;
  ADD_FAILURE() << "no thread";
  return 0;
}

/// "name@depth" → box.
std::map<std::string, FlameGraph::Box> by_name(Scene const& scene, FlameGraph const& graph) {
  std::map<std::string, FlameGraph::Box> result;
  for (auto const& box : graph.boxes)
    result[std::string(scene.trace(0).text(model::StringId{box.name})) + "@" +
           std::to_string(box.depth)] = box;
  return result;
}

TEST(FlameGraph, SumsWhatIsCalledAlike) {
  Scene const scene = nested();
  FlameGraph const graph = flame_graph(scene, {thread_of(scene), {0, 1000}});
  auto const boxes = by_name(scene, graph);

  ASSERT_EQ(boxes.size(), 4U);
  EXPECT_EQ(boxes.at("step@0").total_ns, 150);
  EXPECT_EQ(boxes.at("step@0").count, 2U);
  EXPECT_EQ(boxes.at("step@0").self_ns, 150 - 100 - 30);
  EXPECT_EQ(boxes.at("work@1").total_ns, 100);
  EXPECT_EQ(boxes.at("inner@2").total_ns, 30);
  EXPECT_EQ(boxes.at("inner@2").count, 2U);
  EXPECT_EQ(boxes.at("rest@1").total_ns, 30);

  EXPECT_EQ(graph.total_ns, 150);
  EXPECT_EQ(graph.depth, 3U);
  EXPECT_EQ(graph.events, 7U);
}

TEST(FlameGraph, CutsEventsAtTheRange) {
  Scene const scene = nested();
  FlameGraph const graph = flame_graph(scene, {thread_of(scene), {40, 70}});
  auto const boxes = by_name(scene, graph);
  EXPECT_EQ(boxes.at("step@0").total_ns, 30);
  EXPECT_EQ(boxes.at("work@1").total_ns, 20);
  EXPECT_EQ(boxes.at("inner@2").total_ns, 10);
  EXPECT_EQ(boxes.at("rest@1").total_ns, 10);
}

TEST(FlameGraph, OfNothingIsEmpty) {
  Scene const scene = nested();
  EXPECT_TRUE(flame_graph(scene, {thread_of(scene), {5000, 6000}}).boxes.empty());
  EXPECT_TRUE(flame_graph(scene, {12345, {0, 100}}).boxes.empty());
  EXPECT_TRUE(lay_out_flames({}, 500, 10).empty());
}

TEST(FlameGraph, OfATrainingRunLosesNoTime) {
  Scene const scene = synthetic_scene(
      {.devices = 2, .steps = 12, .input_delay_ns = 2'000'000, .sync_every_op = true});

  for (uint32_t node = 0; node < scene.nodes.size(); ++node) {
    if (scene.nodes[node].kind != NodeKind::kThread) continue;
    auto const length = static_cast<double>(scene.length);
    for (TimeWindow const range :
         {TimeWindow{0, length}, TimeWindow{length * 0.31, length * 0.57}}) {
      FlameGraph const graph = flame_graph(scene, {node, range});

      int64_t self = 0;
      for (auto const& box : graph.boxes) {
        EXPECT_GE(box.self_ns, 0);
        self += box.self_ns;
        if (box.parent == FlameGraph::kNone) continue;
        auto const& parent = graph.boxes[box.parent];
        EXPECT_EQ(parent.depth + 1, box.depth);
        EXPECT_GE(box.begin_ns, parent.begin_ns);
        EXPECT_LE(box.begin_ns + box.total_ns, parent.begin_ns + parent.total_ns);
      }
      EXPECT_EQ(self, graph.total_ns);
    }
  }
}

TEST(FlameGraph, PutsSiblingsBesideEachOtherTheLargestFirst) {
  Scene const scene = nested();
  FlameGraph const graph = flame_graph(scene, {thread_of(scene), {0, 1000}});
  auto const boxes = by_name(scene, graph);
  EXPECT_EQ(boxes.at("work@1").begin_ns, 0);
  EXPECT_EQ(boxes.at("rest@1").begin_ns, 100);

  auto const items = lay_out_flames(graph, 300, 20);
  ASSERT_EQ(items.size(), 4U);
  for (auto const& item : items) {
    auto const& box = graph.boxes[item.box];
    EXPECT_FLOAT_EQ(item.x1 - item.x0, static_cast<float>(box.total_ns) * 2);
    EXPECT_FLOAT_EQ(item.y0, static_cast<float>(box.depth) * 20);
  }
}

TEST(FlameGraph, LeavesOutWhatIsThinnerThanHalfAPixel) {
  Scene const scene = nested();
  EXPECT_LT(lay_out_flames(flame_graph(scene, {thread_of(scene), {0, 1000}}), 2, 20).size(), 4U);
}

TEST(FlameGraph, OfVeryManyNamesIsBounded) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const thread = add_thread(builder, "main");
    for (int64_t i = 0; i < 30'000; ++i)
      builder.events(thread).add(model::EventKind::kRange, i * 10, 5,
                                 builder.intern("name " + std::to_string(i)));
  });
  EXPECT_EQ(flame_graph(scene, {thread_of(scene), {0, 1e9}}).boxes.size(), kMaxFlameBoxes);
}

TEST(DefaultThread, IsTheSelectionsOrTheOneWithMostEvents) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 6, .process_per_device = true});
  ViewState state = initial_view(scene);
  auto const busiest = default_thread(scene, state);
  ASSERT_TRUE(busiest);
  EXPECT_EQ(scene.nodes[*busiest].rank, 0U);

  for (uint32_t row = 0; row < scene.trace(1).event_count(); ++row) {
    if (scene.trace(1).track(row).kind != model::TrackKind::kThread) continue;
    state.selection = Selection{Selection::What::kEvent, 1, row};
    EXPECT_EQ(default_thread(scene, state), scene.node_of(*state.selection));
    break;
  }

  EXPECT_FALSE(default_thread(scene_of([](model::TraceBuilder&) {}), {}));
}

}  // namespace
}  // namespace stepscope::viewer
