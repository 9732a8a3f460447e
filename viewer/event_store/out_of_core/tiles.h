// The events of a run that is not in memory, where they are looked at: pieces of a process's time,
// read on another thread, kept until others need the room.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "trace/model/trace.h"
#include "viewer/scene/communicators.h"
#include "viewer/scene/track_events.h"

namespace stepscope::viewer {

/// What is asked for: the events of some tracks of a process in a piece of time, which need not be
/// looked at as a whole.
struct TileRequest {
  uint32_t rank = 0;
  std::vector<uint32_t> tracks;          ///< ascending
  int64_t begin = 0, end = 0;            ///< what is read, trace time
  int64_t need_begin = 0, need_end = 0;  ///< what must be there
  uint64_t events = 0;                   ///< about so many are read
  friend bool operator==(TileRequest const&, TileRequest const&) = default;
};

/// What was read. Immutable.
struct Tile {
  struct TrackEvents {
    bool is_whole = false;  ///< was asked for, and no damaged block hides any of it
    std::vector<Lane> lanes;
    Curve curve;  ///< of samples, view time
  };
  TileRequest request;
  model::Trace trace;
  std::vector<TrackEvents> tracks;      ///< one for each track of the trace
  std::map<int32_t, Segments> devices;  ///< devices with all their streams in the tile
  /// Devices that have rows for them, with all their collectives in the tile.
  std::map<int32_t, std::vector<CommunicatorLanes>> communicators;
  size_t bytes = 0;  ///< that it takes, about

  [[nodiscard]] bool covers(int64_t begin, int64_t end) const {
    return request.begin <= begin && request.end >= end;
  }
  [[nodiscard]] bool has(uint32_t track) const {
    return track < tracks.size() && tracks[track].is_whole;
  }
};

/// An event with all that belongs to it, text included, takes about so much in a tile.
inline constexpr size_t kTileBytesAnEvent = 160;

/// All but the reading is for one thread, that of the frames.
class TileStore {
 public:
  /// Called on another thread, one at a time; null where nothing can be read.
  using Read = std::function<std::shared_ptr<Tile const>(TileRequest const&)>;
  TileStore(Read read, size_t most_bytes);
  /// Waits for the tile that is being read.
  ~TileStore();
  TileStore(TileStore const&) = delete;
  TileStore& operator=(TileStore const&) = delete;

  /// Forgets everything, and reads nothing more than what is being read, for which it does not
  /// wait.
  void retire();
  /// Takes what was read, and forgets what was not looked at for longest where there is no room.
  /// Until the next call the tiles are the same.
  void begin_frame();
  /// What this frame would like, the most urgent first; what only earlier ones wanted is not read
  /// any more.
  void want(std::vector<TileRequest> requests);
  /// The tile that was looked at last among those that cover [begin, end) of a track, as a whole.
  /// Counts as a look.
  [[nodiscard]] std::shared_ptr<Tile const> find(uint32_t rank, uint32_t track, int64_t begin,
                                                 int64_t end);
  /// All of a process.
  template <class Visit>
  void each_of(uint32_t rank, Visit visit) const {
    for (Kept const& kept : tiles_)
      if (kept.tile->request.rank == rank) visit(*kept.tile);
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] size_t count() const { return tiles_.size(); }
  /// Whether another frame is due when something was read.
  [[nodiscard]] bool is_busy() const;
  /// Waits until all that was wanted was read; the next frame has it.
  void finish();

 private:
  struct Kept {
    std::shared_ptr<Tile const> tile;
    uint64_t used = 0;  ///< the frame that looked at it last
  };
  void work(std::stop_token const& stop);
  void make_room();
  void forget(std::vector<Kept>::iterator tile);

  Read read_;
  size_t most_bytes_;
  std::vector<Kept> tiles_;
  size_t bytes_ = 0;
  std::vector<std::shared_ptr<Tile const>> forgotten_;  ///< released together
  size_t forgotten_bytes_ = 0;
  uint64_t frame_ = 1;
  std::vector<TileRequest>
      refused_;  ///< cannot be read, or found no room: not tried again while they stay the same

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<TileRequest> queue_;  ///< under the mutex, as the rest
  std::optional<TileRequest> reading_;
  std::vector<std::pair<TileRequest, std::shared_ptr<Tile const>>> read_tiles_;
  std::jthread thread_;  // last: it ends before what it looks at
};

}  // namespace stepscope::viewer
