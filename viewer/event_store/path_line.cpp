#include "viewer/event_store/path_line.h"

#include <algorithm>
#include <utility>

#include "analyzer/metrics/critical_path/critical_path.h"

namespace stepscope::viewer {

PathPlaces::PathPlaces(Scene const& scene) : scene_(scene) {
  for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
    Node const& node = scene.nodes[i];
    if (node.kind == NodeKind::kRank) ranks_.emplace(node.rank, i);
    if (node.kind == NodeKind::kDevice && node.device)
      devices_.emplace(scene.analysis.devices[*node.device].ref, i);
    if (node.kind == NodeKind::kStream || node.kind == NodeKind::kThread)
      tracks_.emplace(std::pair(node.rank, node.track), i);
  }
}

std::optional<PathLine::Piece> PathPlaces::place(analyzer::PathPiece const& from,
                                                 model::Trace const& trace) const {
  if (from.rank_index < 0) return std::nullopt;
  PathLine::Piece piece;
  piece.rank = static_cast<uint32_t>(from.rank_index);
  piece.begin = scene_.to_view(from.when.begin);
  piece.end = scene_.to_view(from.when.end);
  piece.path_class = from.path_class;

  if (from.row) {
    auto const& columns = trace.columns();
    auto const track = tracks_.find({piece.rank, columns.track[*from.row].value});
    if (track != tracks_.end()) {
      piece.row = from.row;
      piece.node = track->second;
      piece.lane = std::min<uint16_t>(columns.depth[*from.row], kMaxLanes - 1);
      return piece;
    }
  }

  if (from.device) {
    auto const device = devices_.find({from.rank_index, *from.device});
    if (device != devices_.end()) {
      piece.node = device->second;
      return piece;
    }
  }

  auto const rank = ranks_.find(piece.rank);
  if (rank == ranks_.end()) return std::nullopt;
  piece.node = rank->second;
  return piece;
}

PathLine line_of(std::vector<PathLine::Piece> pieces, int64_t least_ns) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](auto const& a, auto const& b) { return a.begin < b.begin; });
  PathLine line;
  for (PathLine::Piece& piece : pieces) {
    PathLine::Piece* const last = line.pieces.empty() ? nullptr : &line.pieces.back();
    // Clocks that contradict each other could let pieces overlap: folding needs them disjoint.
    if (last != nullptr) piece.begin = std::max(piece.begin, last->end);
    if (piece.begin >= piece.end) continue;

    bool const is_short =
        last != nullptr && last->end == piece.begin && piece.end - piece.begin < least_ns;
    if (is_short && last->end - last->begin < least_ns)
      last->end = piece.end;
    else
      line.pieces.push_back(piece);
  }
  return line;
}

void PathFeed::give(std::vector<PathLine::Piece> const& pieces, double share) {
  std::lock_guard const lock(mutex_);
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  share_ = share;
}

void PathFeed::take(PathLine& line) {
  std::vector<PathLine::Piece> fresh;
  bool is_first_part = false;
  {
    std::lock_guard const lock(mutex_);
    fresh.swap(pieces_);
    is_first_part = share_ < 1;
  }
  if (fresh.empty()) return;

  if (line.pieces.empty() && is_first_part) {
    // More will follow: room is made once, because a frame has no time to move all that is there.
    line.pieces.reserve(std::max<size_t>(kMostPathPieces, fresh.size()));
  }
  line.pieces.insert(line.pieces.end(), fresh.begin(), fresh.end());
}

double PathFeed::share() const {
  std::lock_guard const lock(mutex_);
  return share_;
}

Paint paint_of(analyzer::PathClass path_class) {
  using enum analyzer::PathClass;
  switch (path_class) {
    case kCompute:
      return Paint::kCompute;
    case kCommunication:
      return Paint::kCommunication;
    case kCopy:
      return Paint::kCopy;
    case kHost:
      return Paint::kRange;
    case kLaunch:
      return Paint::kLaunch;
    case kSync:
      return Paint::kSync;
    case kInput:
      return Paint::kInput;
    case kAllocation:
      return Paint::kAllocation;
    case kProfiler:
      return Paint::kProfiler;
    case kPeer:
      return Paint::kPeer;
    case kUnexplained:
      return Paint::kUnexplained;
  }
  return Paint::kUnexplained;
}

}  // namespace stepscope::viewer
