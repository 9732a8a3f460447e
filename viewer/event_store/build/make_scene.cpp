// Makes the scene of a run, and is the one place that decides which store has its events.
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analyzer/metrics/steps/run_summary.h"
#include "reports/words/summary.h"
#include "trace/base/check.h"
#include "trace/base/format.h"
#include "trace/import/open/trace_source.h"
#include "viewer/event_store/in_memory/in_memory_store.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"
#include "viewer/scene/communicators.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/track_choice.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

constexpr analyzer::Interval kAlways{std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max()};

constexpr size_t kMaxNote = 40;  ///< bytes

GapsOfDevice gaps_of(analyzer::Analysis const& analysis, analyzer::DeviceRef ref) {
  auto const* const gaps = analysis.gaps.of(ref);
  return {gaps, gaps == nullptr ? 0 : analysis.gaps.first_of(ref)};
}

/// Numbers equal labels.
class CommunicatorLabels {
 public:
  std::string next(std::string label) {
    if (int const number = ++counts_[label]; number > 1) label += fmt::format(" ({})", number);
    return label;
  }

 private:
  std::map<std::string, int> counts_;
};

/// Builds the tree rank by rank. What a node shows of its events is filled in by the class that
/// knows where they are.
class TreeBuilder {
 public:
  explicit TreeBuilder(Scene& scene) : scene_(scene) {}
  TreeBuilder(TreeBuilder const&) = delete;
  TreeBuilder& operator=(TreeBuilder const&) = delete;
  virtual ~TreeBuilder() = default;

  void add_rank(uint32_t rank) {
    model::Trace const& trace = scene_.trace(rank);
    uint32_t const node = open(NodeKind::kRank, rank, 0);
    scene_.nodes[node].label = fmt::format("Rank {}", trace.info().rank);
    scene_.nodes[node].note = printable_name(trace.info().host, kMaxNote);

    std::map<int32_t, std::vector<uint32_t>> streams;
    std::vector<uint32_t> others;
    auto const tracks = trace.tracks();
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      if (scene_.event_count(rank, t) == 0) continue;
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

 protected:
  static constexpr size_t kMostCommunicators = 256;  ///< of a device: more than any job has

  virtual void fill_device(Node& node, analyzer::DeviceRef ref) = 0;
  virtual void fill_track(Node& node) = 0;
  /// `device_node`: the last one that is open.
  virtual void add_communicators(uint32_t device_node, analyzer::DeviceRef ref) = 0;
  /// `device`: index into Analysis::devices, where it is known.
  virtual void add_memory(uint32_t rank, std::optional<uint32_t> device) = 0;

  [[nodiscard]] Scene& scene() { return scene_; }

  /// A row of its own, for a device whose streams do not tell its communicators apart. Valid until
  /// the next node.
  Node& open_communicator(uint32_t rank, Communicator const& of, std::string label) {
    uint32_t const index = open(NodeKind::kCommunicator, rank, 2);
    Node& node = scene_.nodes[index];
    node.communicator = of.id;
    node.label = std::move(label);
    node.note = "communicator";
    close(index);
    return node;
  }

  Node& add_memory_node(uint32_t rank) {
    uint32_t const index = open(NodeKind::kMemory, rank, 2);
    Node& node = scene_.nodes[index];
    node.label = "Memory";
    node.bytes = true;
    close(index);
    return node;
  }

  /// The only stream of a communicator says whose it is. The device's node is the last one that is
  /// open.
  void note_members(uint32_t device_node, Communicator const& of, std::string const& label) {
    for (uint32_t i = device_node; i < scene_.nodes.size(); ++i) {
      Node& node = scene_.nodes[i];
      if (node.kind == NodeKind::kStream && node.track == of.last_track && node.note.empty())
        node.note = label;
    }
  }

 private:
  uint32_t open(NodeKind kind, uint32_t rank, uint32_t indent) {
    Node node;
    node.kind = kind;
    node.rank = rank;
    node.indent = indent;
    scene_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(scene_.nodes.size() - 1);
  }
  void close(uint32_t node) {
    scene_.nodes[node].subtree_end = static_cast<uint32_t>(scene_.nodes.size());
  }

  void add_device(uint32_t rank, int32_t device, std::vector<uint32_t> const& tracks) {
    model::Trace const& trace = scene_.trace(rank);
    uint32_t const node = open(NodeKind::kDevice, rank, 1);
    Node& added = scene_.nodes[node];
    added.device_number = device;
    added.label = fmt::format("Device {}", device);
    for (model::Device const& known : trace.devices())
      if (known.id == device && !known.name.empty())
        added.label += " · " + printable_name(known.name, kMaxNote);

    analyzer::DeviceRef const ref{static_cast<int32_t>(rank), device};
    auto const& facts = scene_.analysis.devices;
    for (uint32_t i = 0; i < facts.size(); ++i)
      if (facts[i].ref == ref) added.device = i;
    if (added.device) show_device(scene_, added, *added.device);
    added.streams = tracks;
    fill_device(added, ref);

    // Streams first, counters last: rows of communicators stand between.
    std::vector<uint32_t> sorted = tracks;
    std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
      model::Track const& left = trace.tracks()[a];
      model::Track const& right = trace.tracks()[b];
      return std::tuple(left.kind, left.stream_kind, left.id) <
             std::tuple(right.kind, right.stream_kind, right.id);
    });

    std::optional<uint32_t> const index = scene_.nodes[node].device;
    auto const counters = std::find_if(sorted.begin(), sorted.end(), [&](uint32_t track) {
      return trace.tracks()[track].kind == model::TrackKind::kCounter;
    });
    for (auto track = sorted.begin(); track != counters; ++track) add_track(rank, *track, 2);
    add_communicators(node, ref);

    for (auto track = counters; track != sorted.end(); ++track) add_track(rank, *track, 2);
    add_memory(rank, index);
    close(node);
  }

  static NodeKind kind_of(model::TrackKind kind) {
    if (kind == model::TrackKind::kThread) return NodeKind::kThread;
    return kind == model::TrackKind::kStream ? NodeKind::kStream : NodeKind::kCounter;
  }

  static char const* kind_name(NodeKind kind) {
    if (kind == NodeKind::kStream) return "Stream";
    return kind == NodeKind::kThread ? "Thread" : "Counter";
  }

  void add_track(uint32_t rank, uint32_t track, uint32_t indent) {
    model::Trace const& trace = scene_.trace(rank);
    model::Track const& of = trace.tracks()[track];
    NodeKind const kind = kind_of(of.kind);

    uint32_t const index = open(kind, rank, indent);
    Node& node = scene_.nodes[index];
    node.track = track;
    node.label = printable_name(of.name, kMaxName);
    if (node.label.empty()) node.label = fmt::format("{} {}", kind_name(kind), of.id);

    if (of.dropped > 0) node.note = base::format_count(of.dropped) + " lost";
    fill_track(node);
    close(index);
  }

  Scene& scene_;
};

/// The nodes have all their events.
class InMemoryTree final : public TreeBuilder {
 public:
  explicit InMemoryTree(Scene& scene) : TreeBuilder(scene), members_(scene.analysis) {}

 private:
  void fill_device(Node& node, analyzer::DeviceRef ref) override {
    node.segments =
        Segments(device_segments(scene().trace(node.rank), node.streams, scene().shift(node.rank),
                                 scene().origin, gaps_of(scene().analysis, ref), kAlways));
  }

  void fill_track(Node& node) override {
    model::Trace const& trace = scene().trace(node.rank);
    if (node.kind == NodeKind::kCounter) {
      node.curve = sample_curve(trace, node.track, scene().shift(node.rank));
    } else {
      node.lanes = make_lanes(trace, node.track, node.hidden);
      node.lane_count = static_cast<uint32_t>(node.lanes.size());
    }
  }

  void add_communicators(uint32_t device_node, analyzer::DeviceRef ref) override {
    auto const rank = static_cast<uint32_t>(ref.rank_index);
    auto found = communicator_lanes(scene().trace(rank), scene().nodes[device_node].streams);
    if (streams_tell_apart(found)) {
      for (CommunicatorLanes const& each : found)
        note_members(device_node, each.of, members_.label(scene().run, each.of));
      return;
    }

    CommunicatorLabels labels;
    for (size_t i = 0; i < std::min(found.size(), kMostCommunicators); ++i) {
      Node& node = open_communicator(rank, found[i].of,
                                     labels.next(members_.label(scene().run, found[i].of)));
      node.lane_count = static_cast<uint32_t>(found[i].lanes.size());
      node.lanes = std::move(found[i].lanes);
    }
  }

  void add_memory(uint32_t rank, std::optional<uint32_t> device) override {
    if (!device) return;
    auto const& memory = scene().analysis.devices[*device].memory;
    if (memory.timeline.empty()) return;
    Node& node = add_memory_node(rank);
    show_memory(scene(), node, *device, memory_curve(memory, scene().origin));
  }

  CommunicatorMembers members_;
};

/// The nodes know what the files' summaries know.
class OutOfCoreTree final : public TreeBuilder {
 public:
  OutOfCoreTree(Scene& scene, OutOfCoreRun const& run) : TreeBuilder(scene), run_(run) {}

 private:
  void fill_device(Node& /*node*/, analyzer::DeviceRef /*ref*/) override {}

  void fill_track(Node& node) override {
    OutOfCoreTrack const& track = run_.track(node.rank, node.track);
    node.lane_count = node.kind == NodeKind::kCounter ? 0 : track.lanes;
    node.curve.lowest = track.lowest;
    node.curve.highest = track.highest;
  }

  /// They are known once the analysis has found them.
  void add_communicators(uint32_t device_node, analyzer::DeviceRef ref) override {
    auto const* const found = run_.communicators(ref);
    if (found == nullptr) return;

    if (streams_tell_apart(*found)) {
      for (OutOfCoreCommunicator const& each : *found)
        note_members(device_node, each.of, each.label);
      return;
    }

    auto const rank = static_cast<uint32_t>(ref.rank_index);
    CommunicatorLabels labels;
    for (size_t i = 0; i < std::min(found->size(), kMostCommunicators); ++i) {
      OutOfCoreCommunicator const& each = (*found)[i];
      Node& node = open_communicator(rank, each.of, labels.next(each.label));
      node.lane_count = each.lane_count;
      node.streams = run_.device(ref).collectives;
    }
  }

  /// The curve comes with the analysis.
  void add_memory(uint32_t rank, std::optional<uint32_t> /*device*/) override {
    if (run_.has_kind(rank, model::EventKind::kMemory)) add_memory_node(rank);
  }

  OutOfCoreRun const& run_;
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

void find_extent_in_files(Scene& scene, OutOfCoreRun const& run) {
  model::Interval const range = import::time_range(run.sources());
  scene.origin = range.begin;
  int64_t const length = scene.to_view(range.end);
  scene.length = length < 0 ? std::numeric_limits<int64_t>::max() : std::max<int64_t>(length, 1);
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank)
    scene.events += run.rank(rank).events;
}

void add_nodes(Scene& scene, TreeBuilder& tree) {
  static std::atomic<uint64_t> trees = 0;
  scene.tree = ++trees;
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank) tree.add_rank(rank);
  name_paths(scene.nodes);

  scene.track_nodes.resize(scene.run.ranks.size());
  for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
    Node const& node = scene.nodes[i];
    if (node.kind == NodeKind::kRank) scene.rank_nodes.push_back(i);
    if (node.kind == NodeKind::kRank)
      scene.track_nodes[node.rank].resize(scene.trace(node.rank).tracks().size(), Scene::kNoNode);
    bool const is_track = node.kind == NodeKind::kStream || node.kind == NodeKind::kThread ||
                          node.kind == NodeKind::kCounter;
    if (is_track) scene.track_nodes[node.rank][node.track] = i;
  }
}

}  // namespace

void show_device(Scene const& scene, Node& node, uint32_t device) {
  node.device = device;
  auto const utilization = scene.analysis.devices[device].time.utilization();
  if (utilization) node.note = base::format_share(*utilization) + " busy";
}

Curve memory_curve(analyzer::MemoryStats const& memory, int64_t origin) {
  Curve curve;
  curve.time.reserve(memory.timeline.size());
  curve.value.reserve(memory.timeline.size());
  for (analyzer::MemoryPoint const point : memory.timeline) {
    curve.time.push_back(add(point.time_ns, add(~origin, 1)));
    curve.value.push_back(static_cast<double>(point.allocated_bytes));
  }
  finish_curve(curve);
  return curve;
}

void show_memory(Scene const& scene, Node& node, uint32_t device, Curve curve) {
  node.device = device;
  auto const& memory = scene.analysis.devices[device].memory;
  if (memory.peak_allocated_bytes)
    node.note = "peak " + base::format_bytes(*memory.peak_allocated_bytes);
  node.curve = std::move(curve);
}

std::vector<Scene::Participation> find_participations(model::Run const& run,
                                                      analyzer::Analysis const& analysis,
                                                      bool is_out_of_core) {
  std::vector<Scene::Participation> result;
  auto const& all = analysis.collectives;
  for (uint32_t i = 0; i < all.size(); ++i)
    for (auto const& participant : all[i].participants) {
      if (participant.ref.rank_index < 0) continue;
      auto const rank = static_cast<uint32_t>(participant.ref.rank_index);
      int64_t const offset = run.ranks[rank].offset_ns;
      // Rows of a trace that did not stay in memory say nothing.
      result.push_back({rank, is_out_of_core ? 0 : participant.row, i, participant.track.value,
                        add(participant.when.begin, add(~offset, 1))});
    }

  std::stable_sort(result.begin(), result.end(), [&](auto const& a, auto const& b) {
    if (is_out_of_core)
      return std::tuple(a.rank, a.track, a.start) < std::tuple(b.rank, b.track, b.start);
    return std::tuple(a.rank, a.row) < std::tuple(b.rank, b.row);
  });
  return result;
}

std::string verdict_of(model::Run const& run, analyzer::Analysis const& analysis) {
  return printable_name(reports::verdict(run, analysis, analyzer::summarize(analysis)).text());
}

Scene make_scene(model::Run run, analyzer::Analysis analysis) {
  Scene scene;
  scene.run = std::move(run);
  scene.analysis = std::move(analysis);
  scene.periods = analyzer::step_periods(scene.analysis);
  scene.verdict = verdict_of(scene.run, scene.analysis);

  find_extent(scene);
  scene.participations = find_participations(scene.run, scene.analysis, false);
  InMemoryTree tree(scene);
  add_nodes(scene, tree);
  return scene;
}

Scene make_scene(model::Run run, std::unique_ptr<OutOfCoreRun> out_of_core) {
  Scene scene;
  OutOfCoreRun& files = *out_of_core;
  scene.run = std::move(run);
  scene.store = std::make_unique<OutOfCoreStore>(std::move(out_of_core));
  scene.missing_analysis.emplace();
  find_extent_in_files(scene, files);

  OutOfCoreTree tree(scene, files);
  add_nodes(scene, tree);
  files.read_tiles(scene.origin, nullptr);
  return scene;
}

std::vector<uint32_t> rebuild_nodes(Scene& scene) {
  size_t const before = scene.nodes.size();

  scene.nodes.clear();
  scene.rank_nodes.clear();
  scene.track_nodes.clear();
  OutOfCoreTree tree(scene, out_of_core_run(scene));
  add_nodes(scene, tree);

  // The others are the same, in their order.
  std::vector<uint32_t> now;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (scene.nodes[i].kind != NodeKind::kCommunicator) now.push_back(i);
  STEPSCOPE_CHECK(now.size() == before);
  return now;
}

namespace {

/// Where the steps are in the last half of the run, the part that has them; else the whole run.
TimeWindow first_window(Scene const& scene) {
  TimeWindow const whole{0, static_cast<double>(scene.length)};
  double first = whole.end;
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank)
    if (RankSteps const its = scene.store->steps(scene, rank, whole); !its.steps.empty())
      first = std::min(first, static_cast<double>(its.steps.front().begin));

  if (first == whole.end || first < whole.end / 2) return whole;
  // What led to the first step is seen at the edge.
  constexpr double kRoom = 0.05;
  return {first - kRoom * (whole.end - first), whole.end};
}

/// The devices of a rank that has more than a screen shows with all their streams.
void close_many_devices(Scene const& scene, uint32_t rank_node, std::set<uint32_t>& closed) {
  std::vector<uint32_t> devices;
  for (uint32_t node = rank_node + 1; node < scene.nodes[rank_node].subtree_end; ++node)
    if (scene.nodes[node].kind == NodeKind::kDevice) devices.push_back(node);
  if (devices.size() > kOpenDevices) closed.insert(devices.begin(), devices.end());
}

}  // namespace

ViewState initial_view(Scene const& scene) {
  ViewState state;
  state.window = first_window(scene);
  bool const has_many_ranks = scene.run.ranks.size() > kOpenRanks;
  for (uint32_t node = 0; node < scene.nodes.size(); node = scene.nodes[node].subtree_end) {
    if (has_many_ranks) state.closed.insert(node);
    close_many_devices(scene, node, state.closed);
  }
  return state;
}

Scene::Scene() : store(std::make_unique<InMemoryStore>()) {}
Scene::~Scene() = default;
Scene::Scene(Scene&& other) noexcept = default;
Scene& Scene::operator=(Scene&& other) noexcept = default;

}  // namespace stepscope::viewer
