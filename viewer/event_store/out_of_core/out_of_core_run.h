// A run that memory should not hold: of every track its pyramid, from the files' own summaries, and
// the events themselves only of what is looked at (tiles.h). What is drawn costs what the screen
// holds, whatever the number of events.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/summary/track_pyramid.h"
#include "viewer/event_store/out_of_core/communicators.h"
#include "viewer/event_store/out_of_core/grids/density.h"
#include "viewer/event_store/out_of_core/grids/gap_grid.h"
#include "viewer/event_store/out_of_core/tiles.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Runs of more events are opened out of core. So many events take a gigabyte in memory as they are
/// drawn (116 bytes an event), and are read, analyzed and arranged in some seconds.
inline constexpr uint64_t kMostInMemoryEvents = uint64_t{8} << 20;
/// Bound for all tiles together: a quarter of what a run of any size may take.
inline constexpr size_t kMostTileBytes = size_t{256} << 20;

struct OutOfCoreTrack {
  model::TrackPyramid pyramid;  ///< trace time
  uint64_t events = 0;
  uint64_t kinds = 0;              ///< bit k = an event of kind k is in it
  uint32_t lanes = 0;              ///< as deep as its events nest, at most kMaxLanes
  double lowest = 0, highest = 0;  ///< of its samples and 0
  /// Made when it is first drawn.
  [[nodiscard]] DensityGrid const& grid() const;

 private:
  mutable std::once_flag grid_made_;
  mutable DensityGrid grid_;
};

/// What is drawn of a device in one strip.
struct OutOfCoreDevice {
  int32_t device = 0;
  std::vector<uint32_t> streams;  ///< those of its tracks that have events
  std::vector<uint32_t>
      collectives;  ///< those of its streams that may have collectives, never none
  /// How full all its streams are together. Made when it is first drawn.
  [[nodiscard]] DensityGrid const& grid(
      std::span<model::TrackSummary const* const> summaries) const;

 private:
  std::unique_ptr<std::once_flag> grid_made_ = std::make_unique<std::once_flag>();
  mutable DensityGrid grid_;
};

struct OutOfCoreRank {
  struct Step {
    int64_t begin = 0;  ///< trace time
    int64_t index = 0;
  };
  std::vector<std::unique_ptr<OutOfCoreTrack>> tracks;
  std::vector<Step> steps;  ///< of the track that has most, by begin
  uint64_t events = 0;
  std::vector<OutOfCoreDevice> devices;  ///< by number
};

class OutOfCoreRun {
 public:
  using Sources = std::shared_ptr<import::RunSources const>;
  OutOfCoreRun(Sources sources, std::vector<OutOfCoreRank> ranks)
      : sources_(std::move(sources)), ranks_(std::move(ranks)) {}

  [[nodiscard]] import::RunSources const& sources() const { return *sources_; }
  [[nodiscard]] Sources const& shared_sources() const { return sources_; }
  [[nodiscard]] OutOfCoreRank const& rank(uint32_t rank) const { return ranks_[rank]; }
  [[nodiscard]] OutOfCoreTrack const& track(uint32_t rank, uint32_t track) const {
    return *ranks_[rank].tracks[track];
  }
  /// One that has events.
  [[nodiscard]] OutOfCoreDevice const& device(analyzer::DeviceRef ref) const;
  [[nodiscard]] bool has_kind(uint32_t rank, model::EventKind kind) const;
  /// Events that start in [begin, end), trace time; bins that a border cuts are taken as even.
  [[nodiscard]] uint64_t starts(uint32_t rank, uint32_t track, int64_t begin, int64_t end) const;
  /// Pixels of a track of a process, or of all streams of one of its devices; `begin`: trace time
  /// of the first, `pixel`: ns.
  [[nodiscard]] std::vector<DensityColumn> columns(uint32_t rank, std::span<uint32_t const> tracks,
                                                   double begin, double pixel, size_t count) const;

  /// Takes one grid for each device of the analysis' gaps.
  void take_gap_grids(std::map<analyzer::DeviceRef, GapGrid> grids) {
    gap_grids_ = std::move(grids);
  }
  /// The grid of a device that has gaps.
  [[nodiscard]] GapGrid const& gap_grid(analyzer::DeviceRef ref) const {
    return gap_grids_.at(ref);
  }

  void take_communicators(OutOfCoreCommunicators all) {
    communicators_ = std::make_shared<OutOfCoreCommunicators const>(std::move(all));
  }
  /// The communicators of a device; null before they are known.
  [[nodiscard]] std::vector<OutOfCoreCommunicator> const* communicators(
      analyzer::DeviceRef ref) const;

  /// From now on events are read into new tiles. Earlier tiles are forgotten, and a tile that is
  /// being read is not waited for. `gaps`: the analysis', null before it is there; must outlive
  /// this.
  void read_tiles(int64_t origin, analyzer::IdleGaps const* gaps,
                  size_t most_bytes = kMostTileBytes);
  [[nodiscard]] TileStore& tiles() const { return *tiles_; }
  /// A selected event in what was read.
  [[nodiscard]] std::optional<Scene::EventAt> find(Selection const& selection) const;

 private:
  Sources sources_;
  std::vector<OutOfCoreRank> ranks_;
  std::map<analyzer::DeviceRef, GapGrid> gap_grids_;
  std::shared_ptr<OutOfCoreCommunicators const> communicators_;  ///< with the tiles' threads
  std::unique_ptr<TileStore> tiles_;       // last, as the next: their threads look at the others
  std::unique_ptr<TileStore> last_tiles_;  // of a call before
};

/// Opens what memory should not hold: pyramids of all tracks, steps. Errors: those of reading a
/// file without summaries.
base::Expected<std::unique_ptr<OutOfCoreRun>> make_out_of_core_run(OutOfCoreRun::Sources sources);
/// The processes as a run without events.
base::Expected<model::Run> run_without_events(import::RunSources const& sources);
/// What tiles are made with.
struct TileContext {
  int64_t origin = 0;                        ///< run time of view time 0
  analyzer::IdleGaps const* gaps = nullptr;  ///< null: none are known, as the next
  std::shared_ptr<OutOfCoreCommunicators const> communicators;
};
/// The events of a process that a request names.
std::shared_ptr<Tile const> read_tile(OutOfCoreRun const& run, TileRequest const& request,
                                      TileContext const& facts);

}  // namespace stepscope::viewer
