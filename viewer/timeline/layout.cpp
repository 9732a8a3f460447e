#include "viewer/timeline/layout.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "viewer/event_store/event_store.h"
#include "viewer/queries/search_query.h"
#include "viewer/scene/fold.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/timeline/layout_parts.h"
#include "viewer/timeline/unread_rows.h"

namespace stepscope::viewer {
namespace {

/// Σ dur of the lane's elements [first, last).
int64_t busy_time(model::Trace::Columns const& columns, Lane const& lane, uint32_t first,
                  uint32_t last) {
  auto const before = [&](uint32_t i) {
    uint32_t const block =
        std::min(i / kBusyBlock, static_cast<uint32_t>(lane.busy_before.size() - 1));
    int64_t sum = lane.busy_before[block];
    for (uint32_t k = block * kBusyBlock; k < i; ++k) sum = add(sum, columns.dur[lane.rows[k]]);
    return sum;
  };
  return add(before(last), -before(first));
}

double highest_value(Curve const& curve, uint32_t first, uint32_t last) {
  double result = curve.value[first];

  for (uint32_t i = first; i < last;) {
    if (i % kBusyBlock == 0 && i + kBusyBlock <= last) {
      result = std::max(result, curve.block_max[i / kBusyBlock]);
      i += kBusyBlock;
    } else {
      result = std::max(result, curve.value[i++]);
    }
  }
  return result;
}

/// Lays out the rows with their items and curves.
class RowPainter {
 public:
  RowPainter(Scene const& scene, ViewState const& state, Viewport viewport)
      : scene_(scene),
        state_(state),
        query_(parse_query(state.search.text)),
        is_searching_(!query_.is_empty()) {
    result_.viewport = viewport;
    result_.window = state.window;
  }

  Layout paint() {
    float const scale = result_.viewport.scale;
    auto const rows = shown_rows(scene_, state_);
    add_pinned(rows->pinned);

    float const pinned = result_.pinned_height;
    float const scroll = std::round(state_.scroll * scale) - pinned;
    result_.content_height = std::round(rows->height() * scale) + pinned;
    auto const y_of = [&](float top) { return std::round(top * scale) - scroll; };

    // The first whose lower edge can be seen.
    auto const first = std::partition_point(rows->tops.begin() + 1, rows->tops.end(),
                                            [&](float bottom) { return y_of(bottom) <= pinned; });
    for (auto i = static_cast<size_t>(first - rows->tops.begin()) - 1; i < rows->tracks.size();
         ++i) {
      if (y_of(rows->tops[i]) >= result_.viewport.height) break;
      add_row(rows->tracks[i].node, y_of(rows->tops[i]), y_of(rows->tops[i + 1]),
              rows->tracks[i].open, false);
    }
    return std::move(result_);
  }

 private:
  /// Above all others; what does not fit is cut.
  void add_pinned(std::vector<uint32_t> const& nodes) {
    float const scale = result_.viewport.scale;
    float const room = std::floor(result_.viewport.height * kMostPinned);
    float bottom = 0;

    for (uint32_t const node : nodes) {
      float const y0 = std::round(bottom * scale);
      if (y0 >= room) break;
      bottom += row_height(scene_, state_, node);
      add_row(node, y0, std::round(bottom * scale), false, true);
    }
    result_.pinned_height = std::min(std::round(bottom * scale), room);
  }

  void add_row(uint32_t index, float y0, float y1, bool open, bool pinned) {
    Row row;
    row.node = index;
    row.y0 = y0;
    row.y1 = y1;
    row.open = open;
    row.pinned = pinned;
    row.first_item = static_cast<uint32_t>(result_.items.size());
    row.first_point = static_cast<uint32_t>(result_.points.size());

    row.events = scene_.store->row_events(scene_, index, result_.window);
    if (scene_.nodes[index].kind == NodeKind::kRank && !row.open) {
      add_strips(index, y0, y1);
    } else {
      add_segments(index, row.events, y0 + std::round(4 * result_.viewport.scale),
                   y1 - std::round(5 * result_.viewport.scale));
    }
    add_lanes(row);
    add_curve(row);

    row.last_item = static_cast<uint32_t>(result_.items.size());
    row.last_point = static_cast<uint32_t>(result_.points.size());
    result_.rows.push_back(std::move(row));
  }

  void push(Item item, double x0, double x1) {
    item.x0 = clamp_x(result_, x0);
    item.x1 = clamp_x(result_, x1);
    result_.items.push_back(item);
  }

  /// Whether an event is what was searched for. Names are looked at once a frame.
  bool is_wanted(uint32_t rank, model::Trace const& trace, uint32_t row) {
    if (query_.rank && trace.info().rank != *query_.rank) return false;
    auto const& columns = trace.columns();
    if (!query_.matches_duration(columns.dur[row]) || !query_.matches_kind(columns.kind[row]))
      return false;
    uint64_t const key = uint64_t{rank} << 32U | columns.name[row].value;
    auto const [known, is_new] = wanted_names_.try_emplace(key, false);
    if (is_new) known->second = query_.matches_name(trace.name(row));
    return known->second;
  }

  /// Events where they are in memory, else marks from the summary.
  void add_lanes(Row const& row) {
    if (!row.has_events())
      return add_density_lanes(scene_, row.node, result_, row.y0, is_searching_, result_.items);
    for (size_t lane = 0; lane < row.events.lanes.size(); ++lane)
      add_lane(row.node, row.trace(), row.events.lanes[lane], lane, row.y0);
  }

  void add_lane(uint32_t node_index, model::Trace const& trace, Lane const& lane, size_t lane_index,
                float row_top) {
    float const scale = result_.viewport.scale;
    Node const& node = scene_.nodes[node_index];
    auto const& columns = trace.columns();
    int64_t const shift = scene_.shift(node.rank);

    Item item;
    item.node = node_index;
    item.y0 = row_top +
              std::round((kTrackPad / 2 + static_cast<float>(lane_index) * kLaneHeight) * scale);
    item.y1 = item.y0 + std::round((kLaneHeight - 1) * scale);
    if (item.y1 <= 0 || item.y0 >= result_.viewport.height) return;

    auto const begin = [&](uint32_t i) { return add(columns.start[lane.rows[i]], shift); };
    auto const end = [&](uint32_t i) {
      return add(add(columns.start[lane.rows[i]], columns.dur[lane.rows[i]]), shift);
    };
    auto const before = [&](uint32_t first, double time) {
      return lane.begins.before(first, time, shift);
    };
    fold_window(result_, lane.rows.size(), begin, end, before,
                [&](uint32_t first, uint32_t last, double x0, double x1) {
                  set_events(item, columns, lane, first, last);
                  item.faded =
                      is_searching_ && (item.count > 1 || !is_wanted(node.rank, trace, item.index));
                  push(item, x0, x1);
                });
  }

  /// Makes the item one of the lane's elements [first, last).
  void set_events(Item& item, model::Trace::Columns const& columns, Lane const& lane,
                  uint32_t first, uint32_t last) const {
    uint32_t const middle = lane.rows[first + (last - first) / 2];
    item.index = lane.rows[first];
    item.count = last - first;
    item.paint = paint_of(columns.kind[middle]);

    if (item.count == 1) {
      item.kind = ItemKind::kEvent;
      item.shade = shade_of(columns.name[middle].value);
      item.fill = 1;
    } else {
      double const pixel = result_.window.span() / static_cast<double>(result_.viewport.width);
      double const share = static_cast<double>(busy_time(columns, lane, first, last)) / pixel;
      item.kind = ItemKind::kDensity;
      item.shade = 1;
      item.fill = static_cast<float>(std::clamp(share, 0.0, 1.0));
    }
  }

  /// A closed rank shows its devices' time, one above the other.
  void add_strips(uint32_t rank_node, float y0, float y1) {
    // Thinner ones could not be distinguished: further devices are seen when the rank is opened.
    constexpr float kThinnest = 4;
    float const scale = result_.viewport.scale;
    float const low = y0 + std::round(3 * scale);
    float const high = y1 - std::round(4 * scale);
    auto const most = static_cast<size_t>(std::max((high - low) / (kThinnest * scale), 1.0F));

    // A rank's devices are the first of its children.
    std::vector<uint32_t> devices;
    for (uint32_t i = rank_node + 1;
         i < scene_.nodes[rank_node].subtree_end && scene_.nodes[i].kind == NodeKind::kDevice &&
         devices.size() < most;
         i = scene_.nodes[i].subtree_end)
      devices.push_back(i);

    float const height = (high - low) / static_cast<float>(std::max<size_t>(devices.size(), 1));
    for (size_t i = 0; i < devices.size(); ++i) {
      float const top = std::round(low + height * static_cast<float>(i));
      float const bottom =
          std::round(low + height * static_cast<float>(i + 1)) - (devices.size() > 1 ? 1.0F : 0.0F);
      add_segments(devices[i], scene_.store->row_events(scene_, devices[i], result_.window), top,
                   std::max(bottom, top + 1));
    }
  }

  void add_segments(uint32_t node, RowEvents const& events, float y0, float y1) {
    if (scene_.nodes[node].kind != NodeKind::kDevice) return;
    if (events.segments == nullptr) return add_strip(scene_, node, result_, y0, y1, result_.items);

    Segments const& segments = *events.segments;
    Item item;
    item.kind = ItemKind::kSegment;
    item.node = node;
    item.y0 = y0;
    item.y1 = y1;

    fold_window(
        result_, segments.size(), [&](uint32_t i) { return segments[i].begin; },
        [&](uint32_t i) { return segments[i].end; },
        [&](uint32_t first, double time) { return segments.begins().before(first, time); },
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          item.index = segments.longest(first, last);
          item.count = last - first;
          item.paint = segments[item.index].paint;
          item.idle = segments[item.index].gap.has_value();
          item.gap = segments[item.index].gap.value_or(StripPiece::kNoGap);
          push(item, x0, x1);
        });
  }

  void add_curve(Row const& row) {
    Node const& node = scene_.nodes[row.node];
    if (row.events.curve != nullptr) {
      add_samples(*row.events.curve, node.curve, row.y0, row.y1);
    } else if (node.kind == NodeKind::kCounter) {
      add_unread_curve(scene_, row.node, result_, row.y0, row.y1, result_.points);
    }
  }

  /// `range`: whose lowest and highest value fill the row.
  void add_samples(Curve const& curve, Curve const& range, float y0, float y1) {
    if (curve.time.empty() || range.highest <= range.lowest) return;
    float const scale = result_.viewport.scale;
    auto const y = [&](double value) {
      double const share = (value - range.lowest) / (range.highest - range.lowest);
      return y1 - 2 * scale - static_cast<float>(share) * (y1 - y0 - 6 * scale);
    };

    auto const width = static_cast<uint32_t>(result_.viewport.width);
    auto const count = static_cast<uint32_t>(curve.time.size());
    uint32_t at = 0;
    for (uint32_t column = 0; column < width; ++column) {
      double const begin = result_.time_at(static_cast<float>(column));
      double const end = result_.time_at(static_cast<float>(column + 1));
      at = gallop(at, count,
                  [&](uint32_t i) { return static_cast<double>(curve.time[i]) <= begin; });
      uint32_t const last =
          gallop(at, count, [&](uint32_t i) { return static_cast<double>(curve.time[i]) < end; });

      if (last == 0) continue;
      if (end > static_cast<double>(scene_.length)) break;
      double const now = at > 0 ? curve.value[at - 1] : curve.value[0];
      double const high = at < last ? std::max(now, highest_value(curve, at, last)) : now;
      result_.points.push_back({static_cast<float>(column), y(now), y(high)});
    }
  }

  Scene const& scene_;
  ViewState const& state_;
  Query query_;
  bool is_searching_;
  std::unordered_map<uint64_t, bool> wanted_names_;  ///< by (rank, name)
  Layout result_;
};

}  // namespace

Layout lay_out(Scene const& scene, ViewState const& state, Viewport viewport, PathLine const* path,
               GhostTracks const* ghosts) {
  Layout layout = RowPainter(scene, state, viewport).paint();
  if (ghosts != nullptr) add_ghosts(scene, state, *ghosts, layout);
  add_overlays(scene, state, path, layout);
  return layout;
}

}  // namespace stepscope::viewer
