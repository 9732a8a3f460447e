// The critical path of a run that is not in memory, as a line over all of it: found stretch by
// stretch, each of which is read and forgotten but for its pieces.
#pragma once

#include <cstdint>
#include <mutex>
#include <stop_token>
#include <vector>

#include "viewer/queries/path_line.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// What of the line was found, from the thread that looks for it to that of the frames.
class PathFeed {
 public:
  /// Pieces that come after all that were given; `share`: of the run that was looked at, 0 to 1.
  void give(std::vector<PathLine::Piece> const& pieces, double share);
  /// Adds what was given since the last call.
  void take(PathLine& line);
  [[nodiscard]] double share() const;

 private:
  mutable std::mutex mutex_;
  std::vector<PathLine::Piece> pieces_;  ///< under the mutex, as the rest
  double share_ = 0;
};

/// A stretch has no more events: a tenth of a second of a core's work, in some 100 MiB.
inline constexpr uint64_t kMostStretchEvents = uint64_t{1} << 20;
/// Of a longer line what is shorter than such a part of the run becomes one piece with its
/// neighbours: 20 MiB, and no pixel but at the closest zoom is as narrow.
inline constexpr uint64_t kMostPathPieces = uint64_t{1} << 19;

/// Gives the line of an analyzed run from its begin to its end. What cannot be read has none.
void find_path_in_files(Scene const& scene, PathFeed& feed, std::stop_token const& stop,
                        uint64_t most_stretch_events = kMostStretchEvents);

}  // namespace stepscope::viewer
