// The critical path as a line through the timeline: its pieces in order of time, each with the row
// on which it lies.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::analyzer {
struct PathPiece;
}

namespace stepscope::viewer {

/// Disjoint: at every instant the path is in one place.
struct PathLine {
  struct Piece {
    int64_t begin = 0, end = 0;  ///< view time
    uint32_t node =
        0;  ///< of Scene::nodes: a track where an event is known, else the device or the rank
    uint32_t rank = 0;
    std::optional<uint32_t> row;  ///< of the event, where its trace is in memory
    uint16_t lane = 0;            ///< of the node
    analyzer::PathClass path_class = analyzer::PathClass::kUnexplained;
  };
  std::vector<Piece> pieces;
};

/// Hands what was found of the line from the thread that looks for it to the thread of the frames.
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

/// A longer line that is read from files is joined: what is shorter than such a part of the run
/// becomes one piece with its neighbours. It takes 20 MiB, and no pixel but at the closest zoom is
/// as narrow.
inline constexpr uint64_t kMostPathPieces = uint64_t{1} << 19;

/// Where the pieces of a path are drawn, found once.
class PathPlaces {
 public:
  explicit PathPlaces(Scene const& scene);
  /// The piece with its node; none when nothing of its rank is drawn. `trace`: the one with its
  /// row.
  [[nodiscard]] std::optional<PathLine::Piece> place(analyzer::PathPiece const& from,
                                                     model::Trace const& trace) const;

 private:
  Scene const& scene_;
  std::map<uint32_t, uint32_t> ranks_;
  std::map<analyzer::DeviceRef, uint32_t> devices_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> tracks_;
};

/// Pieces in any order as a line. Successive pieces shorter than `least_ns` become one of that
/// length.
PathLine line_of(std::vector<PathLine::Piece> pieces, int64_t least_ns = 0);

/// The colour and the word of what the path does.
Paint paint_of(analyzer::PathClass path_class);

}  // namespace stepscope::viewer
