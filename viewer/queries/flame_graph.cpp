#include "viewer/queries/flame_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

class FlameBuilder {
 public:
  FlameBuilder(Scene const& scene, model::Trace const& trace, FlameKey const& key)
      : trace_(trace), shift_(scene.shift(scene.nodes[key.node].rank)) {
    auto const length = static_cast<double>(scene.length);
    begin_ = static_cast<int64_t>(std::clamp(std::round(key.range.begin), 0.0, length));
    end_ = static_cast<int64_t>(std::clamp(std::round(key.range.end), 0.0, length));
  }

  /// Rows of a track come by start, the enclosing ones first: the row above is always known.
  void add_row(uint32_t row) {
    auto const& columns = trace_.columns();
    uint32_t const depth = columns.depth[row];
    if (depth >= kMaxLanes) return;

    int64_t const from = std::max(add(columns.start[row], shift_), begin_);
    int64_t const until = std::min(add(add(columns.start[row], columns.dur[row]), shift_), end_);
    if (until < from || (until == from && columns.dur[row] > 0)) return;

    // What encloses it may lie on another lane only of damaged traces: then it stands on its own.
    uint32_t parent = FlameGraph::kNone;
    if (depth > 0 && open_[depth - 1].box != FlameGraph::kNone && open_[depth - 1].end >= until)
      parent = open_[depth - 1].box;
    uint32_t const box = box_of(parent, columns.name[row].value, columns.kind[row]);
    open_[depth] = {box, until};

    if (box == FlameGraph::kNone) return;
    FlameGraph::Box& into = graph_.boxes[box];
    ++into.count;
    into.total_ns = add(into.total_ns, until - from);
    ++graph_.events;
  }

  FlameGraph finish() {
    for (FlameGraph::Box& box : graph_.boxes) box.self_ns = box.total_ns;
    for (FlameGraph::Box const& box : graph_.boxes) {
      if (box.parent != FlameGraph::kNone) graph_.boxes[box.parent].self_ns -= box.total_ns;
      if (box.parent == FlameGraph::kNone) graph_.total_ns = add(graph_.total_ns, box.total_ns);
      graph_.depth = std::max(graph_.depth, box.depth + 1);
    }
    place();
    return std::move(graph_);
  }

 private:
  struct Open {
    uint32_t box = FlameGraph::kNone;
    int64_t end = INT64_MIN;
  };

  uint32_t box_of(uint32_t parent, uint32_t name, model::EventKind kind) {
    uint64_t const key = (uint64_t{parent} + 1) << 32U | name;
    if (auto const found = boxes_.find(key); found != boxes_.end()) return found->second;
    if (graph_.boxes.size() >= kMaxFlameBoxes) return FlameGraph::kNone;

    auto const index = static_cast<uint32_t>(graph_.boxes.size());
    FlameGraph::Box box;
    box.name = name;
    box.kind = kind;
    box.parent = parent;
    box.depth = parent == FlameGraph::kNone ? 0 : graph_.boxes[parent].depth + 1;
    graph_.boxes.push_back(box);
    boxes_.emplace(key, index);
    return index;
  }

  /// Orders siblings by total and puts them beside each other.
  void place() {
    auto& boxes = graph_.boxes;
    std::vector<uint32_t> order(boxes.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;

    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (boxes[a].depth != boxes[b].depth) return boxes[a].depth < boxes[b].depth;
      return boxes[a].total_ns > boxes[b].total_ns;
    });

    std::vector<uint32_t> new_index(boxes.size());
    for (uint32_t i = 0; i < order.size(); ++i) new_index[order[i]] = i;

    std::vector<FlameGraph::Box> sorted;
    sorted.reserve(boxes.size());
    for (uint32_t const i : order) sorted.push_back(boxes[i]);

    std::vector<int64_t> filled(boxes.size());
    int64_t outermost = 0;
    for (uint32_t i = 0; i < sorted.size(); ++i) {
      FlameGraph::Box& box = sorted[i];
      if (box.parent != FlameGraph::kNone) box.parent = new_index[box.parent];
      int64_t& next = box.parent == FlameGraph::kNone ? outermost : filled[box.parent];
      box.begin_ns = next;
      next = add(next, box.total_ns);
      filled[i] = box.begin_ns;
    }
    boxes = std::move(sorted);
  }

  model::Trace const& trace_;
  int64_t shift_, begin_ = 0, end_ = 0;
  std::array<Open, kMaxLanes> open_{};
  std::unordered_map<uint64_t, uint32_t> boxes_;  ///< by (parent + 1, name)
  FlameGraph graph_;
};

}  // namespace

FlameGraph flame_graph(Scene const& scene, FlameKey const& key, std::stop_token const& stop) {
  constexpr uint32_t kRowsBetweenLooks = 1U << 16;
  if (key.node >= scene.nodes.size()) return {};
  Node const& node = scene.nodes[key.node];
  if (node.kind != NodeKind::kThread && node.kind != NodeKind::kStream) return {};

  TrackRows const rows = scene.store->rows_in(scene, key.node, key.range, kMostFlameEvents, stop);
  if (!rows.trace) {
    FlameGraph nothing;
    nothing.is_too_long = rows.are_too_many;
    return nothing;
  }

  FlameBuilder builder(scene, *rows.trace, key);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (row % kRowsBetweenLooks == 0 && stop.stop_requested()) return {};
    builder.add_row(row);
  }
  return builder.finish();
}

std::optional<uint32_t> default_thread(Scene const& scene, ViewState const& state) {
  if (state.selection && state.selection->what == Selection::What::kEvent)
    if (auto const node = scene.node_of(*state.selection);
        node && scene.nodes[*node].kind == NodeKind::kThread)
      return node;

  uint32_t rank = 0;
  if (state.device < scene.analysis.devices.size() &&
      scene.analysis.devices[state.device].ref.rank_index >= 0)
    rank = static_cast<uint32_t>(scene.analysis.devices[state.device].ref.rank_index);

  std::optional<uint32_t> best;
  uint64_t most = 0;
  if (rank >= scene.track_nodes.size()) return best;
  auto const tracks = scene.trace(rank).tracks();
  for (uint32_t track = 0; track < tracks.size(); ++track) {
    uint32_t const node = scene.track_nodes[rank][track];
    if (node == Scene::kNoNode || tracks[track].kind != model::TrackKind::kThread) continue;
    uint64_t const events = scene.event_count(rank, track);
    // Among equals the one that stands higher.
    if (best && (events < most || (events == most && node > *best))) continue;
    best = node;
    most = events;
  }
  return best;
}

std::vector<FlameItem> lay_out_flames(FlameGraph const& graph, float width, float row_height) {
  constexpr double kLeast = 0.5;
  std::vector<FlameItem> items;
  if (graph.total_ns <= 0 || width <= 0) return items;

  double const scale = static_cast<double>(width) / static_cast<double>(graph.total_ns);
  for (uint32_t i = 0; i < graph.boxes.size(); ++i) {
    FlameGraph::Box const& box = graph.boxes[i];
    double const x0 = static_cast<double>(box.begin_ns) * scale;
    double const x1 = x0 + static_cast<double>(box.total_ns) * scale;
    if (x1 - x0 < kLeast) continue;
    float const y0 = static_cast<float>(box.depth) * row_height;
    items.push_back({static_cast<float>(x0), static_cast<float>(x1), y0, y0 + row_height, i});
  }
  return items;
}

}  // namespace stepscope::viewer
