#include "viewer/scene.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/text.h"

namespace stepscope::viewer {
namespace {

std::vector<Lane> make_lanes(model::Trace const& trace, uint32_t track, uint64_t& hidden) {
  auto const rows = trace.rows_of(model::TrackId{track});
  auto const& columns = trace.columns();
  std::vector<uint32_t> counts;
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    uint32_t const depth = columns.depth[row];
    if (depth >= kMaxLanes) {
      ++hidden;
      continue;
    }
    if (depth >= counts.size()) counts.resize(depth + 1);
    ++counts[depth];
  }
  std::vector<Lane> lanes(counts.size());
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i].rows.reserve(counts[i]);
  std::vector<int64_t> busy(lanes.size());
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    uint32_t const depth = columns.depth[row];
    if (depth >= kMaxLanes) continue;
    Lane& lane = lanes[depth];
    if (lane.rows.size() % kBusyBlock == 0) lane.busy_before.push_back(busy[depth]);
    lane.rows.push_back(row);
    lane.begins.add(columns.start[row]);
    busy[depth] = add(busy[depth], columns.dur[row]);
  }
  return lanes;
}

void finish_curve(Curve& curve) {
  if (curve.value.empty()) return;
  auto const [low, high] = std::minmax_element(curve.value.begin(), curve.value.end());
  curve.lowest = std::min(0.0, *low);
  curve.highest = std::max(0.0, *high);
  for (size_t i = 0; i < curve.value.size(); i += kBusyBlock) {
    auto const first = curve.value.begin() + static_cast<std::ptrdiff_t>(i);
    auto const last = curve.value.begin() + static_cast<std::ptrdiff_t>(std::min(i + kBusyBlock, curve.value.size()));
    curve.block_max.push_back(*std::max_element(first, last));
  }
}

/// Builds the tree rank by rank.
class TreeBuilder {
 public:
  explicit TreeBuilder(Scene& scene) : scene_(scene) {}

  void add_rank(uint32_t rank) {
    model::Trace const& trace = scene_.trace(rank);
    uint32_t const node = open(NodeKind::kRank, rank, 0);
    scene_.nodes[node].label = fmt::format("Rank {}", trace.info().rank);
    scene_.nodes[node].note = printable_name(trace.info().host, kMaxNote);
    std::map<int32_t, std::vector<uint32_t>> streams;
    std::vector<uint32_t> others;
    auto const tracks = trace.tracks();
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      if (trace.rows_of(model::TrackId{t}).size() == 0) continue;
      if (tracks[t].kind == model::TrackKind::kThread || tracks[t].device < 0) {
        others.push_back(t);
      } else {
        streams[tracks[t].device].push_back(t);
      }
    }
    for (auto const& [device, of_device] : streams) add_device(rank, device, of_device);
    for (uint32_t const track : others) add_track(rank, track, 1);
    close(node);
  }

 private:
  static constexpr size_t kMaxNote = 40;

  uint32_t open(NodeKind kind, uint32_t rank, uint32_t indent) {
    Node node;
    node.kind = kind;
    node.rank = rank;
    node.indent = indent;
    scene_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(scene_.nodes.size() - 1);
  }
  void close(uint32_t node) { scene_.nodes[node].subtree_end = static_cast<uint32_t>(scene_.nodes.size()); }

  void add_device(uint32_t rank, int32_t device, std::vector<uint32_t> const& tracks) {
    model::Trace const& trace = scene_.trace(rank);
    uint32_t const node = open(NodeKind::kDevice, rank, 1);
    Node& added = scene_.nodes[node];
    added.label = fmt::format("Device {}", device);
    for (model::Device const& known : trace.devices())
      if (known.id == device && !known.name.empty()) added.label += " · " + printable_name(known.name, kMaxNote);
    analyzer::DeviceRef const ref{static_cast<int32_t>(rank), device};
    auto const& facts = scene_.analysis.devices;
    for (uint32_t i = 0; i < facts.size(); ++i)
      if (facts[i].ref == ref) added.device = i;
    if (added.device) {
      auto const utilization = facts[*added.device].time.utilization();
      if (utilization) added.note = base::format_share(*utilization) + " busy";
    }
    added.segments = Segments(device_segments(rank, device, tracks));
    std::vector<uint32_t> sorted = tracks;
    std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
      model::Track const& left = trace.tracks()[a];
      model::Track const& right = trace.tracks()[b];
      return std::tuple(left.kind, left.stream_kind, left.id) < std::tuple(right.kind, right.stream_kind, right.id);
    });
    std::optional<uint32_t> const index = scene_.nodes[node].device;
    for (uint32_t const track : sorted) add_track(rank, track, 2);
    if (index) add_memory(rank, *index);
    close(node);
  }

  void add_track(uint32_t rank, uint32_t track, uint32_t indent) {
    model::Trace const& trace = scene_.trace(rank);
    model::Track const& of = trace.tracks()[track];
    NodeKind const kind = of.kind == model::TrackKind::kThread   ? NodeKind::kThread
                          : of.kind == model::TrackKind::kStream ? NodeKind::kStream
                                                                 : NodeKind::kCounter;
    uint32_t const index = open(kind, rank, indent);
    Node& node = scene_.nodes[index];
    node.track = track;
    node.label = printable_name(of.name, kMaxName);
    if (node.label.empty())
      node.label = fmt::format("{} {}",
                               kind == NodeKind::kStream   ? "Stream"
                               : kind == NodeKind::kThread ? "Thread"
                                                           : "Counter",
                               of.id);
    if (of.dropped > 0) node.note = base::format_count(of.dropped) + " lost";
    if (kind == NodeKind::kCounter) {
      add_samples(node, trace);
    } else {
      node.lanes = make_lanes(trace, track, node.hidden);
    }
    close(index);
  }

  void add_samples(Node& node, model::Trace const& trace) const {
    auto const rows = trace.rows_of(model::TrackId{node.track});
    int64_t const shift = scene_.shift(node.rank);
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (trace.kind(row) != model::EventKind::kSample) continue;
      node.curve.time.push_back(add(trace.start(row), shift));
      node.curve.value.push_back(trace.detail<model::SampleDetail>(row).value);
    }
    finish_curve(node.curve);
  }

  void add_memory(uint32_t rank, uint32_t device) {
    auto const& memory = scene_.analysis.devices[device].memory;
    if (memory.timeline.empty()) return;
    uint32_t const index = open(NodeKind::kMemory, rank, 2);
    Node& node = scene_.nodes[index];
    node.device = device;
    node.label = "Memory";
    node.bytes = true;
    if (memory.peak_allocated_bytes) node.note = "peak allocated " + base::format_bytes(*memory.peak_allocated_bytes);
    for (auto const& point : memory.timeline) {
      node.curve.time.push_back(scene_.to_view(point.time_ns));
      node.curve.value.push_back(static_cast<double>(point.allocated_bytes));
    }
    finish_curve(node.curve);
    close(index);
  }

  /// The device's time without rest: compute, exposed communication, exposed copies, and the analysis' idle gaps.
  std::vector<Segment> device_segments(uint32_t rank, int32_t device, std::vector<uint32_t> const& tracks) const {
    model::Trace const& trace = scene_.trace(rank);
    int64_t const shift = scene_.shift(rank);
    std::vector<model::Interval> compute, communication, copy;
    for (uint32_t const track : tracks) {
      auto const rows = trace.rows_of(model::TrackId{track});
      for (uint32_t row = rows.first; row < rows.last; ++row) {
        model::OpClass const op = model::kind_info(trace.kind(row)).op_class;
        if (op == model::OpClass::kNone) continue;
        auto& into = op == model::OpClass::kCompute ? compute : op == model::OpClass::kComm ? communication : copy;
        into.push_back({add(trace.start(row), shift), add(trace.end(row), shift)});
      }
    }
    auto const busy = model::unite(std::move(compute));
    auto const exposed_comm = model::subtract(model::unite(std::move(communication)), busy);
    auto const exposed_copy = model::subtract(model::subtract(model::unite(std::move(copy)), busy), exposed_comm);
    std::vector<Segment> segments;
    auto const take = [&](model::IntervalSet const& set, Paint paint) {
      for (auto const& piece : set) segments.push_back({piece.begin, piece.end, paint, {}});
    };
    take(busy, Paint::kCompute);
    take(exposed_comm, Paint::kCommunication);
    take(exposed_copy, Paint::kCopy);
    add_gaps({static_cast<int32_t>(rank), device}, segments);
    std::sort(segments.begin(), segments.end(), [](Segment const& a, Segment const& b) { return a.begin < b.begin; });
    return segments;
  }

  void add_gaps(analyzer::DeviceRef ref, std::vector<Segment>& segments) const {
    analyzer::DeviceGaps const* const gaps = scene_.analysis.gaps.of(ref);
    if (gaps == nullptr) return;
    size_t const first = scene_.analysis.gaps.first_of(ref);
    for (size_t i = 0; i < gaps->size(); ++i) {
      model::Interval const when = gaps->when(i);
      segments.push_back(
          {scene_.to_view(when.begin), scene_.to_view(when.end), paint_of(gaps->cause(i)), static_cast<uint32_t>(first + i)});
    }
  }

  Scene& scene_;
};

void find_extent(Scene& scene) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (model::RankTrace const& rank : scene.run.ranks) {
    scene.events += rank.trace.event_count();
    if (rank.trace.event_count() == 0) continue;
    auto const [begin, end] = rank.trace.time_range();
    first = std::min(first, add(begin, rank.offset_ns));
    last = std::max(last, add(end, rank.offset_ns));
  }
  if (first > last) return;
  scene.origin = first;
  int64_t const length = scene.to_view(last);
  scene.length = length < 0 ? std::numeric_limits<int64_t>::max() : std::max<int64_t>(length, 1);
}

void find_participations(Scene& scene) {
  auto const& all = scene.analysis.collectives;
  for (uint32_t i = 0; i < all.size(); ++i)
    for (auto const& participant : all[i].participants)
      if (participant.ref.rank_index >= 0)
        scene.participations.push_back({static_cast<uint32_t>(participant.ref.rank_index), participant.row, i});
  std::stable_sort(scene.participations.begin(), scene.participations.end(),
                   [](auto const& a, auto const& b) { return std::tuple(a.rank, a.row) < std::tuple(b.rank, b.row); });
}

}  // namespace

Segments::Segments(std::vector<Segment> sorted) : all_(std::move(sorted)) {
  for (uint32_t i = 0; i < size(); ++i) {
    begins_.add(all_[i].begin);
    if (i % kBlock == 0) of_block_.push_back({length(all_[i]), i});
    if (length(all_[i]) > of_block_.back().length) of_block_.back() = {length(all_[i]), i};
  }
}

uint32_t Segments::longest(uint32_t first, uint32_t last) const {
  uint32_t const first_block = (first + kBlock - 1) / kBlock;
  uint32_t const last_block = last / kBlock;
  Longest best{std::numeric_limits<int64_t>::min(), first};
  auto const look_at = [&](uint32_t from, uint32_t until) {
    for (uint32_t i = from; i < until; ++i)
      if (length(all_[i]) > best.length) best = {length(all_[i]), i};
  };
  if (last_block <= first_block) {
    look_at(first, last);
    return best.index;
  }
  for (uint32_t block = first_block; block < last_block; ++block)
    if (of_block_[block].length > best.length) best = of_block_[block];
  if (last_block - first_block > kManyBlocks) return best.index;
  look_at(first, first_block * kBlock);
  look_at(last_block * kBlock, last);
  return best.index;
}

Scene make_scene(model::Run run, analyzer::Analysis analysis) {
  Scene scene;
  scene.run = std::move(run);
  scene.analysis = std::move(analysis);
  find_extent(scene);
  find_participations(scene);
  TreeBuilder tree(scene);
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank) tree.add_rank(rank);
  return scene;
}

ViewState initial_view(Scene const& scene) {
  // Up to this many ranks are shown open; with more, the first one is, and the others are one line each.
  static constexpr size_t kOpenRanks = 8;
  ViewState state;
  state.window = {0, static_cast<double>(scene.length)};
  if (scene.run.ranks.size() > kOpenRanks) {
    for (uint32_t node = 0; node < scene.nodes.size(); node = scene.nodes[node].subtree_end)
      if (node != 0) state.closed.insert(node);
  }
  return state;
}

analyzer::CollectiveFacts const* Scene::collective_of(Selection const& event) const {
  if (event.what != Selection::What::kEvent) return nullptr;
  auto const found = std::partition_point(participations.begin(), participations.end(), [&](Participation const& p) {
    return std::tuple(p.rank, p.row) < std::tuple(event.rank, event.index);
  });
  if (found == participations.end() || found->rank != event.rank || found->row != event.index) return nullptr;
  return &analysis.collectives[found->collective];
}

model::Interval Scene::when(Selection const& selection) const {
  if (selection.what == Selection::What::kGap) {
    model::Interval const gap = analysis.gaps[selection.index].when;
    return {to_view(gap.begin), to_view(gap.end)};
  }
  int64_t const by = shift(selection.rank);
  return {add(trace(selection.rank).start(selection.index), by), add(trace(selection.rank).end(selection.index), by)};
}

std::optional<uint32_t> Scene::node_of_track(uint32_t rank, uint32_t track) const {
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    NodeKind const kind = nodes[i].kind;
    bool const is_track = kind == NodeKind::kStream || kind == NodeKind::kThread || kind == NodeKind::kCounter;
    if (is_track && nodes[i].rank == rank && nodes[i].track == track) return i;
  }
  return std::nullopt;
}

std::optional<uint32_t> Scene::node_of_device(analyzer::DeviceRef ref) const {
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    Node const& node = nodes[i];
    if (node.kind == NodeKind::kDevice && node.device && analysis.devices[*node.device].ref == ref) return i;
  }
  return std::nullopt;
}

std::optional<uint32_t> Scene::node_of(Selection const& selection) const {
  if (selection.what == Selection::What::kGap) return node_of_device(analysis.gaps[selection.index].ref);
  return node_of_track(selection.rank, trace(selection.rank).columns().track[selection.index].value);
}

}  // namespace stepscope::viewer
