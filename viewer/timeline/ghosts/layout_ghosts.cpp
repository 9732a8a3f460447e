// Where predicted events are drawn: one lane under each row that has a ghost track, folded to
// pixels as the recorded events are.
#include <algorithm>
#include <cmath>

#include "viewer/timeline/layout_parts.h"

namespace stepscope::viewer {
namespace {

/// Lines of steps that come closer than this are thinned out, in pixels at scale 1.
constexpr float kLeastStepGap = 6;

/// Σ of what is drawn of the track's events [first, last).
int64_t drawn_time(GhostTrack const& track, uint32_t first, uint32_t last) {
  auto const before = [&](uint32_t i) {
    uint32_t const block =
        std::min(i / kBusyBlock, static_cast<uint32_t>(track.busy_before.size() - 1));
    int64_t sum = track.busy_before[block];
    for (uint32_t k = block * kBusyBlock; k < i; ++k) sum = add(sum, track.end(k) - track.begin(k));
    return sum;
  };
  return add(before(last), -before(first));
}

class GhostPainter {
 public:
  GhostPainter(Scene const& scene, GhostTracks const& ghosts, Layout& layout)
      : scene_(scene), ghosts_(ghosts), result_(layout) {}

  void paint(uint32_t number) {
    Row const& row = result_.rows[number];
    GhostTrack const* const track = ghosts_.of_node(row.node);
    if (track == nullptr) return;
    auto const [y0, y1] = ghost_extent(row, result_.viewport.scale);
    if (y1 <= result_.top_of(row.pinned) || y0 >= result_.viewport.height) return;

    add_events(*track, GhostItem{0, 0, y0, y1, number});
    add_steps(row, *track, y0, y1);
  }

 private:
  void add_events(GhostTrack const& track, GhostItem item) {
    auto const begin = [&](uint32_t i) { return scene_.to_view(track.begin(i)); };
    auto const end = [&](uint32_t i) { return scene_.to_view(track.end(i)); };
    auto const before = [&](uint32_t first, double time) {
      return track.begins.before(first, time, scene_.to_view(0));
    };
    double const pixel = result_.window.span() / static_cast<double>(result_.viewport.width);

    fold_window(result_, track.size(), begin, end, before,
                [&](uint32_t first, uint32_t last, double x0, double x1) {
                  uint32_t const middle = track.track->rows[first + (last - first) / 2];
                  item.index = first;
                  item.count = last - first;
                  item.paint = paint_of(track.trace().kind(middle));
                  uint32_t const name = track.trace().columns().name[middle].value;
                  item.shade = item.count == 1 ? shade_of(name) : uint8_t{1};
                  double const share = static_cast<double>(drawn_time(track, first, last)) / pixel;
                  item.fill = item.count == 1 ? 1 : static_cast<float>(std::clamp(share, 0.0, 1.0));
                  item.x0 = clamp_x(result_, x0);
                  item.x1 = clamp_x(result_, x1);
                  result_.ghosts.push_back(item);
                });
  }

  /// The begins of the predicted steps of the row's device. A thread has those of its process's
  /// first device.
  void add_steps(Row const& row, GhostTrack const& track, float y0, float y1) {
    model::Track const& of = track.trace().tracks()[track.track->track];
    analyzer::DeviceRef wanted{static_cast<int32_t>(track.track->process), of.device};
    if (of.kind != model::TrackKind::kStream) wanted.device = INT32_MIN;
    auto const steps = ghosts_.steps.lower_bound(wanted);
    if (steps == ghosts_.steps.end() || steps->first.rank_index != wanted.rank_index) return;
    if (of.kind == model::TrackKind::kStream && steps->first != wanted) return;

    auto const& begins = steps->second;
    auto const first = std::partition_point(begins.begin(), begins.end(), [&](int64_t begin) {
      return static_cast<double>(scene_.to_view(begin)) < result_.window.begin;
    });
    float free_from = -1;
    for (auto begin = first; begin != begins.end(); ++begin) {
      float const x = result_.x_of(static_cast<double>(scene_.to_view(*begin)));
      if (x > result_.viewport.width) break;
      if (x < free_from) continue;
      result_.ghost_steps.push_back({x, y0, y1, row.pinned});
      free_from = x + kLeastStepGap * result_.viewport.scale;
    }
  }

  Scene const& scene_;
  GhostTracks const& ghosts_;
  Layout& result_;
};

}  // namespace

std::pair<float, float> ghost_extent(Row const& row, float scale) {
  float const y0 = row.y1 - std::round((kGhostHeight + kTrackPad / 2) * scale);
  return {y0, y0 + std::round((kGhostHeight - 1) * scale)};
}

void add_ghosts(Scene const& scene, ViewState const& state, GhostTracks const& ghosts,
                Layout& layout) {
  GhostPainter painter(scene, ghosts, layout);
  for (uint32_t row = 0; row < layout.rows.size(); ++row)
    if (has_ghost(state, layout.rows[row].node)) painter.paint(row);
}

}  // namespace stepscope::viewer
