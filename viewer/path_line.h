// The critical path as a line through the timeline: its pieces in order of time, each with the row on which it lies.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "viewer/scene.h"

namespace stepscope::viewer {

/// Disjoint: at every instant the path is in one place.
struct PathLine {
  struct Piece {
    int64_t begin = 0, end = 0;  ///< view time
    uint32_t node = 0;           ///< of Scene::nodes: a track where an event is known, else the device or the rank
    uint32_t rank = 0;
    std::optional<uint32_t> row;  ///< of the event
    uint16_t lane = 0;            ///< of the node
    analyzer::PathClass path_class = analyzer::PathClass::kUnexplained;
  };
  std::vector<Piece> pieces;
};

/// As long as the analyzer takes for its critical path: seconds for a hundred million events. Empty without one, and for a run
/// that is not in memory.
PathLine path_line(Scene const& scene);

/// The colour and the word of what the path does.
Paint paint_of(analyzer::PathClass path_class);

}  // namespace stepscope::viewer
