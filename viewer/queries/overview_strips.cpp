#include "viewer/queries/overview_strips.h"

#include <algorithm>
#include <cmath>

#include "viewer/event_store/event_store.h"
#include "viewer/queries/host_activity.h"
#include "viewer/scene/fold.h"

namespace stepscope::viewer {

OverviewStrips overview_strips(Scene const& scene, uint32_t columns, std::stop_token const& stop) {
  OverviewStrips strips;
  strips.columns = static_cast<float>(std::max(columns, 1U));

  for (uint32_t index = 0; index < scene.nodes.size(); ++index) {
    Node const& node = scene.nodes[index];
    if (node.kind != NodeKind::kDevice) continue;
    if (strips.devices.size() == kMaxStrips || stop.stop_requested()) break;

    auto const& segments = node.segments;
    auto& pieces = strips.devices.emplace_back();

    // A device whose events are in memory has segments.
    if (segments.empty()) {
      TimeWindow const all{0, static_cast<double>(scene.length)};
      for (StripPiece const& piece : scene.store->device_strip(scene, index, all, strips.columns))
        pieces.push_back({piece.x0, piece.x1, piece.paint, piece.idle});
      continue;
    }

    fold(
        static_cast<uint32_t>(segments.size()), 0, static_cast<double>(scene.length),
        static_cast<double>(strips.columns), [&](uint32_t i) { return segments[i].begin; },
        [&](uint32_t i) { return segments[i].end; },
        [&](uint32_t first, double time) { return segments.begins().before(first, time); },
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          uint32_t const best = segments.longest(first, last);
          auto const begin = std::floor(static_cast<float>(x0));
          float const end = std::max(std::floor(static_cast<float>(x1)), begin + 1);
          // Neighbours alike are one rectangle.
          OverviewStrips::Piece const piece{begin, end, segments[best].paint,
                                            segments[best].gap.has_value()};
          if (!pieces.empty() && pieces.back().paint == piece.paint &&
              pieces.back().idle == piece.idle && pieces.back().last >= begin) {
            pieces.back().last = end;
          } else {
            pieces.push_back(piece);
          }
        });
  }

  if (strips.devices.empty()) add_host_strips(scene, strips, stop);
  return strips;
}

}  // namespace stepscope::viewer
