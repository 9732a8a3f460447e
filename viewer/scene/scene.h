// A run made ready to be drawn, computed once: the tree of tracks in the order of the screen, and
// per track the sorted columns that layout searches. It adds no facts: busy and idle segments are
// Analysis' gaps and the interval algebra of trace/model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/results/run_summary.h"
#include "trace/model/run.h"
#include "viewer/scene/track_events.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

class EventStore;
class OutOfCoreRun;
struct RunSeries;

/// kCommunicator: its collectives on a device, whatever stream they run on.
enum class NodeKind : uint8_t {
  kRank,
  kDevice,
  kStream,
  kThread,
  kCounter,
  kMemory,
  kCommunicator
};

struct Node {
  NodeKind kind = NodeKind::kRank;
  uint32_t rank = 0;               ///< index into Run::ranks
  std::optional<uint32_t> device;  ///< index into Analysis::devices
  int32_t device_number = -1;      ///< of a device: model::Device::id
  uint32_t track = 0;              ///< of a stream, thread or counter
  uint64_t communicator = 0;       ///< of a communicator
  uint32_t indent = 0;
  uint32_t subtree_end = 0;  ///< index after the last node below this one
  std::string label, note;   ///< printable; the note is drawn dimmed at the right
  std::string path;  ///< the labels from the rank down: no other node of the run has it, and it has
                     ///< it whenever it is opened
  uint32_t lane_count = 0;        ///< that are drawn, also of events that are not in memory
  std::vector<uint32_t> streams;  ///< of a device: the tracks that run on it; of an
                                  ///< out-of-core run's communicator: those with collectives
  std::vector<Lane> lanes;
  Segments segments;    ///< of a device
  Curve curve;          ///< of a counter or of memory
  uint64_t hidden = 0;  ///< events nested deeper than kMaxLanes
  bool bytes = false;   ///< the curve's values are bytes
};

struct Scene {
  Scene();
  ~Scene();
  Scene(Scene&& other) noexcept;
  Scene& operator=(Scene&& other) noexcept;

  model::Run run;
  analyzer::Analysis analysis;
  std::vector<analyzer::StepPeriod> periods;  ///< of Analysis::steps, beside them
  std::string verdict;  ///< the analysis in a sentence or two, printable; empty without one
  int64_t origin = 0;   ///< run time of view time 0: the first event
  int64_t length = 1;   ///< ns to the last end, at least 1
  uint64_t events = 0;
  std::vector<Node> nodes;  ///< in preorder
  static constexpr uint32_t kNoNode = UINT32_MAX;
  std::vector<uint32_t> rank_nodes;                ///< of each rank
  std::vector<std::vector<uint32_t>> track_nodes;  ///< by rank and track; kNoNode: it is not drawn
  uint64_t tree = 0;  ///< differs for every tree of nodes that was built, so that rows can be kept
                      ///< for it; 0: built by hand
  /// Events that take part in collectives, by (rank, row); for an out-of-core run by
  /// (rank, track, start).
  struct Participation {
    uint32_t rank, row, collective;
    uint32_t track;
    int64_t start;  ///< trace time
  };
  std::vector<Participation> participations;
  /// Who answers questions about events; never null.
  std::unique_ptr<EventStore> store;
  /// Why `analysis` is still empty: how far it is (empty: not begun), or why there will be none;
  /// printable but for names. None: the analysis is there.
  std::optional<std::string> missing_analysis;
  /// The series that the run belongs to; null: it was opened alone.
  std::shared_ptr<RunSeries> series;
  std::vector<std::string> files;  ///< that were opened as this run, files and folders with their
                                   ///< whole paths; hostile text

  /// An event in memory: until the next frame.
  struct EventAt {
    model::Trace const* trace;
    uint32_t row;
  };

  [[nodiscard]] bool has_analysis() const { return !missing_analysis; }
  [[nodiscard]] model::Trace const& trace(uint32_t rank) const { return run.ranks[rank].trace; }
  /// Run time to view time; wraps instead of overflowing on damaged times.
  [[nodiscard]] int64_t to_view(int64_t run_time) const {
    return static_cast<int64_t>(static_cast<uint64_t>(run_time) - static_cast<uint64_t>(origin));
  }
  /// What to add to a trace time of a rank to have view time.
  [[nodiscard]] int64_t shift(uint32_t rank) const { return to_view(run.ranks[rank].offset_ns); }
  [[nodiscard]] uint64_t event_count(uint32_t rank, uint32_t track) const;
  [[nodiscard]] uint64_t event_count(uint32_t rank) const;
  /// A row of a trace of the run, or of what was read of one.
  [[nodiscard]] Selection selection_of(uint32_t rank, model::Trace const& trace,
                                       uint32_t row) const;
  [[nodiscard]] Selection selection_of(
      analyzer::CollectiveStats::Participant const& participant) const;
  /// Where a selected event is; none where it was not read (yet), and for gaps.
  [[nodiscard]] std::optional<EventAt> find(Selection const& selection) const;
  /// View time of an event or a gap.
  [[nodiscard]] model::Interval when(Selection const& selection) const;
  /// The collective in which an event takes part, if it is known.
  [[nodiscard]] analyzer::CollectiveStats const* collective_of(Selection const& event) const;
  /// The node of a track, if it is drawn.
  [[nodiscard]] std::optional<uint32_t> node_of_track(uint32_t rank, uint32_t track) const;
  [[nodiscard]] std::optional<uint32_t> node_of_device(analyzer::DeviceRef ref) const;
  /// Index into Analysis::devices.
  [[nodiscard]] std::optional<uint32_t> device_of(analyzer::DeviceRef ref) const;
  /// The track of a finding's place, or its device.
  [[nodiscard]] std::optional<uint32_t> node_of(analyzer::Finding::Evidence const& evidence) const;
  /// The node where a selection is drawn.
  [[nodiscard]] std::optional<uint32_t> node_of(Selection const& selection) const;
};

/// The node of the device that a finding is about, where its places are on other ranks: it makes
/// them wait.
std::optional<uint32_t> cause_elsewhere(Scene const& scene, analyzer::Finding const& finding);

/// Scene::verdict of a run.
std::string verdict_of(model::Run const& run, analyzer::Analysis const& analysis);
/// Takes both; O(events).
Scene make_scene(model::Run run, analyzer::Analysis analysis);
/// Without analysis. `run`: its traces have no events.
Scene make_scene(model::Run run, std::unique_ptr<OutOfCoreRun> out_of_core);
/// Makes the nodes anew after the analysis of an out-of-core run came: rows of communicators are
/// known then. Returns for each node where it is now.
std::vector<uint32_t> rebuild_nodes(Scene& scene);
/// Sorted by (rank, row), or by (rank, track, start). `run`: for its offsets.
std::vector<Scene::Participation> find_participations(model::Run const& run,
                                                      analyzer::Analysis const& analysis,
                                                      bool is_out_of_core);
/// Puts what is known of a device (index into Analysis::devices) into its node, or into that of its
/// memory.
void show_device(Scene const& scene, Node& node, uint32_t device);
void show_memory(Scene const& scene, Node& node, uint32_t device, Curve curve);
/// What is allocated over time, one value for each point of the timeline.
/// `origin`: run time of view time 0.
Curve memory_curve(analyzer::MemoryStats const& memory, int64_t origin);
/// Up to this many ranks are open at first. With more, each rank is a row of its devices' time.
inline constexpr size_t kOpenRanks = 2;
/// The same of the devices of one rank, each with its streams.
inline constexpr size_t kOpenDevices = 2;
/// A state that shows something useful for runs of any size: the whole run, or from its first step
/// on where more than half of it goes before. A late window begins with its oldest allocation, and
/// its steps would be a sliver.
ViewState initial_view(Scene const& scene);

}  // namespace stepscope::viewer
