#include "viewer/queries/path_line.h"

#include <algorithm>
#include <utility>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/steps/steps.h"

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

PathLine path_line(Scene const& scene, std::stop_token const& stop) {
  // The pieces of a path are found among all events at once.
  if (!scene.analysis.critical_path || scene.far) return {};
  std::vector<analyzer::DeviceOps> const devices = analyzer::index_devices(scene.run);
  analyzer::HostSteps steps = analyzer::find_host_steps(scene.run);
  if (steps.source == analyzer::StepSource::kNone) analyzer::detect_steps(devices, steps);
  analyzer::CriticalPathInput input{devices, steps, scene.analysis.collectives,
                                    scene.analysis.devices, scene.analysis.steps};
  input.wants_slack = false;
  input.stop = stop;
  std::vector<analyzer::PathPiece> found;
  if (!analyzer::find_critical_path(input, &found)) return {};
  PathPlaces const places(scene);
  std::vector<PathLine::Piece> pieces;
  for (analyzer::PathPiece const& piece : found)
    if (piece.rank_index >= 0)
      if (auto const placed =
              places.place(piece, scene.trace(static_cast<uint32_t>(piece.rank_index))))
        pieces.push_back(*placed);
  return line_of(std::move(pieces));
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
