#include "viewer/path_line.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/facts/critical_path.h"
#include "analyzer/facts/run_index.h"
#include "analyzer/facts/step_detection.h"
#include "analyzer/facts/steps.h"

namespace stepscope::viewer {
namespace {

/// Where things are drawn, found once.
class Places {
 public:
  explicit Places(Scene const& scene) : scene_(scene) {
    for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
      Node const& node = scene.nodes[i];
      if (node.kind == NodeKind::kRank) ranks_.emplace(node.rank, i);
      if (node.kind == NodeKind::kDevice && node.device) devices_.emplace(scene.analysis.devices[*node.device].ref, i);
      if (node.kind == NodeKind::kStream || node.kind == NodeKind::kThread) tracks_.emplace(std::pair(node.rank, node.track), i);
    }
  }

  /// The piece with its node; none when nothing of its rank is drawn.
  [[nodiscard]] std::optional<PathLine::Piece> place(analyzer::PathPiece const& from) const {
    if (from.rank_index < 0) return std::nullopt;
    PathLine::Piece piece;
    piece.rank = static_cast<uint32_t>(from.rank_index);
    piece.begin = scene_.to_view(from.when.begin);
    piece.end = scene_.to_view(from.when.end);
    piece.path_class = from.path_class;
    if (from.row) {
      auto const& columns = scene_.trace(piece.rank).columns();
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

 private:
  Scene const& scene_;
  std::map<uint32_t, uint32_t> ranks_;
  std::map<analyzer::DeviceRef, uint32_t> devices_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> tracks_;
};

}  // namespace

PathLine path_line(Scene const& scene) {
  PathLine line;
  // The pieces of a path are found among all events at once.
  if (!scene.analysis.critical_path || scene.far) return line;
  std::vector<analyzer::DeviceIndex> const devices = analyzer::index_devices(scene.run);
  analyzer::HostSteps steps = analyzer::find_host_steps(scene.run);
  if (steps.source == analyzer::StepSource::kNone) analyzer::detect_steps(devices, steps);
  std::vector<analyzer::PathPiece> pieces;
  analyzer::find_critical_path({devices, steps, scene.analysis.collectives, scene.analysis.devices, scene.analysis.steps},
                               &pieces);
  Places const places(scene);
  // They come process by process.
  for (analyzer::PathPiece const& piece : pieces)
    if (auto const placed = places.place(piece); placed && placed->end > placed->begin) line.pieces.push_back(*placed);
  std::stable_sort(line.pieces.begin(), line.pieces.end(), [](auto const& a, auto const& b) { return a.begin < b.begin; });
  // Clocks that contradict each other could let pieces overlap: folding needs them disjoint.
  int64_t until = INT64_MIN;
  for (PathLine::Piece& piece : line.pieces) {
    piece.begin = std::max(piece.begin, until);
    piece.end = std::max(piece.end, piece.begin);
    until = piece.end;
  }
  return line;
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
