// Who has the events of a run. Queries, timeline and panels ask an EventStore and do not see where
// the events lie: InMemoryStore has them all in memory, OutOfCoreStore reads them from the run's
// files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "viewer/event_store/density_column.h"
#include "viewer/event_store/path_line.h"
#include "viewer/event_store/rank_steps.h"
#include "viewer/event_store/same_name.h"
#include "viewer/event_store/search.h"
#include "viewer/event_store/statistics.h"
#include "viewer/scene/scene.h"

namespace stepscope::import {
struct RunSources;
}

namespace stepscope::analyzer {
class ReplaySession;
}

namespace stepscope::viewer {

/// Where an event stands.
struct EventPlace {
  std::optional<uint32_t>
      row;  ///< of its rank's trace; none: the rows of the run have no numbers here
  uint32_t track = 0;
  uint32_t depth = 0;          ///< Selection::kAnyDepth: unknown
  int64_t start = 0, dur = 0;  ///< trace time
};

/// Events of one track, in the order of their rows.
struct TrackRows {
  std::shared_ptr<model::Trace const>
      trace;                     ///< null: there are too many, they cannot be read, or told to stop
  uint32_t first = 0, last = 0;  ///< rows of the trace
  bool are_too_many = false;
};

/// The least and the largest value of a counter in a pixel; what holds at the pixel's begin is one
/// of them.
struct CounterPixel {
  double low = 0, high = 0;
  bool is_known = false;
};

/// A piece of a device's strip: pixels [x0, x1) are busy with a class, or idle by a cause, for most
/// of their time.
struct StripPiece {
  static constexpr uint32_t kNoGap = UINT32_MAX;
  float x0 = 0, x1 = 0;
  Paint paint = Paint::kCompute;
  bool idle = false;
  uint32_t gap =
      kNoGap;  ///< index into Analysis::gaps: the longest of them, when idle and analyzed
};

/// The events that a row shows in a window, as far as they are in memory.
struct RowEvents {
  model::Trace const* trace = nullptr;  ///< of the lanes' rows; null: no event is in memory
  std::span<Lane const> lanes;
  Segments const* segments = nullptr;  ///< of a device
  Curve const* curve = nullptr;        ///< of a counter or of memory
  std::shared_ptr<void const> owner;   ///< of all this; null: the scene
};

/// Names that explain an idle gap, as the trace has them; none where they are not known.
struct GapNames {
  std::optional<std::string> host_op;   ///< that the host was in
  std::optional<std::string> ended_by;  ///< the op that ran next
};

/// Tracks that the rows of a frame show, by index into Run::ranks.
using ShownTracks = std::map<uint32_t, std::set<uint32_t>>;

/// Every function takes the scene that owns the store. The questions may be asked on any thread
/// while no thread changes the scene; what identifies an event is for the thread of the frames.
/// Each call answers a whole question, so that no virtual call is made for an event of a loop.
class EventStore {
 public:
  EventStore() = default;
  EventStore(EventStore const&) = delete;
  EventStore& operator=(EventStore const&) = delete;
  virtual ~EventStore() = default;

  // Which event is meant.

  [[nodiscard]] virtual uint64_t event_count(Scene const& scene, uint32_t rank,
                                             uint32_t track) const = 0;
  /// `trace`: of the run, or what was read of one.
  [[nodiscard]] virtual Selection selection_of(Scene const& scene, uint32_t rank,
                                               model::Trace const& trace, uint32_t row) const = 0;
  [[nodiscard]] virtual Selection selection_of(
      Scene const& scene, analyzer::CollectiveStats::Participant const& participant) const = 0;
  /// A selected event in memory; none: it was not read (yet).
  [[nodiscard]] virtual std::optional<Scene::EventAt> find(Scene const& scene,
                                                           Selection const& event) const = 0;
  /// None: no such event.
  [[nodiscard]] virtual std::optional<EventPlace> place_of(Scene const& scene,
                                                           Selection const& event) const = 0;
  /// The event in a place, whatever its row. None: no such event.
  [[nodiscard]] virtual std::optional<Selection> selection_at(Scene const& scene, uint32_t rank,
                                                              EventPlace const& place) const = 0;
  [[nodiscard]] virtual GapNames gap_names(Scene const& scene,
                                           analyzer::IdleGap const& gap) const = 0;
  /// The answer of next_of_name() where a frame has the time for it; none: ask on another thread.
  [[nodiscard]] virtual std::optional<SameNameFound> next_of_name_at_once(
      Scene const& scene, SameNameKey const& key) const = 0;

  // What the rows of a frame show, for the thread of the frames.

  [[nodiscard]] virtual RowEvents row_events(Scene const& scene, uint32_t node,
                                             TimeWindow window) const = 0;
  /// How full each of `width` pixels is, for a row whose events are not in memory.
  [[nodiscard]] virtual std::vector<DensityColumn> density(Scene const& scene, uint32_t node,
                                                           TimeWindow window,
                                                           float width) const = 0;
  /// The range of a counter in each of `width` pixels, for one whose samples are not in memory.
  [[nodiscard]] virtual std::vector<CounterPixel> curve(Scene const& scene, uint32_t node,
                                                        TimeWindow window, float width) const = 0;
  [[nodiscard]] virtual RankSteps steps(Scene const& scene, uint32_t rank,
                                        TimeWindow window) const = 0;

  // Reading ahead of the frames. A store that has all events does nothing.

  /// Takes what was read; until the next call rows show the same.
  virtual void begin_frame() const {}
  /// Asks for the events of these rows and for those around a selected event.
  virtual void want(Scene const& /*scene*/, std::optional<Selection> const& /*selection*/,
                    TimeWindow /*window*/, ShownTracks const& /*shown*/) const {}
  /// Whether another frame is due when something was read.
  [[nodiscard]] virtual bool is_reading() const { return false; }
  /// Waits until all that was wanted was read; the next frame has it.
  virtual void finish_reading() const {}
  /// The run's files, where the store reads them: the analysis is made from them. Null: the run is
  /// in memory.
  [[nodiscard]] virtual std::shared_ptr<import::RunSources const> files() const { return nullptr; }

  // Questions. Told to stop, they return early, with anything.

  /// All events that match, in time order. `feed`: a store that reads files gives it what was found
  /// so far; may be null.
  [[nodiscard]] virtual SearchHits search(Scene const& scene, Query const& query,
                                          std::stop_token const& stop, SearchFeed* feed) const = 0;
  /// Devices and device ops; without threads.
  [[nodiscard]] virtual RangeStatistics statistics(Scene const& scene, TimeWindow range,
                                                   std::stop_token const& stop) const = 0;
  /// The durations of the device ops that a histogram shows, unsorted.
  [[nodiscard]] virtual std::vector<int64_t> durations(Scene const& scene, HistogramKey const& key,
                                                       std::stop_token const& stop) const = 0;
  [[nodiscard]] virtual SameNameFound next_of_name(Scene const& scene, SameNameKey const& key,
                                                   std::stop_token const& stop) const = 0;
  /// Gives the line of the critical path, from its begin to its end.
  virtual void find_path(Scene const& scene, PathFeed& feed, std::stop_token const& stop) const = 0;
  /// The replay of an analyzed run, as `stepscope whatif` opens it. The scene must outlive it.
  /// Errors: those of reading; told to stop.
  [[nodiscard]] virtual base::Expected<std::shared_ptr<analyzer::ReplaySession const>> open_replay(
      Scene const& scene, std::stop_token const& stop) const = 0;
  /// The events of a track that may reach into a range. Where they have to be read: at most
  /// `most_events`.
  [[nodiscard]] virtual TrackRows rows_in(Scene const& scene, uint32_t node, TimeWindow range,
                                          uint64_t most_events,
                                          std::stop_token const& stop) const = 0;
  /// A process with all its events; null: it cannot be read, or memory should not hold it.
  [[nodiscard]] virtual std::shared_ptr<model::RankTrace const> process(Scene const& scene,
                                                                        uint32_t rank) const = 0;
  /// `count` pixels of a counter's node over a window. Where a pixel has very many samples, some
  /// are looked at, evenly.
  [[nodiscard]] virtual std::vector<CounterPixel> counter_pixels(Scene const& scene, uint32_t node,
                                                                 TimeWindow window,
                                                                 size_t count) const = 0;
  /// A device's time in `width` pixels, by what is in the middle of each or takes most of it.
  [[nodiscard]] virtual std::vector<StripPiece> device_strip(Scene const& scene, uint32_t node,
                                                             TimeWindow window,
                                                             float width) const = 0;
};

}  // namespace stepscope::viewer
