#include "viewer/timeline/layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/row_marks.h"
#include "viewer/queries/search_query.h"
#include "viewer/scene/fold.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/timeline/out_of_core_rows.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

/// Names of one class that follow each other differ in lightness; the same name looks the same
/// everywhere.
uint8_t shade_of(uint32_t name) { return static_cast<uint8_t>(name * 2654435761U >> 30U); }

class Painter {
 public:
  Painter(Scene const& scene, ViewState const& state, Viewport viewport, PathLine const* path)
      : scene_(scene),
        state_(state),
        path_(path),
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
    add_steps();
    add_ticks();
    add_marks();
    add_path();
    add_related();
    add_evidence();
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
      bottom += node_height(scene_.nodes[node]);
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
    Node const& node = scene_.nodes[index];
    if (node.kind == NodeKind::kRank && !row.open) {
      add_strips(index, y0, y1);
    } else {
      add_segments(index, y0 + std::round(4 * result_.viewport.scale),
                   y1 - std::round(5 * result_.viewport.scale));
    }
    if (scene_.far && node.kind != NodeKind::kMemory) {
      add_out_of_core_track(row);
    } else {
      for (size_t lane = 0; lane < node.lanes.size(); ++lane)
        add_lane(index, scene_.trace(node.rank), node.lanes[lane], lane, y0);
      add_curve(node.curve, node.curve, y0, y1);
    }
    row.last_item = static_cast<uint32_t>(result_.items.size());
    row.last_point = static_cast<uint32_t>(result_.points.size());
    result_.rows.push_back(row);
  }

  float clamp_x(double x) const {
    return static_cast<float>(std::clamp(x, 0.0, static_cast<double>(result_.viewport.width)));
  }

  void push(Item item, double x0, double x1) {
    item.x0 = clamp_x(x0);
    item.x1 = clamp_x(x1);
    result_.items.push_back(item);
  }

  template <class Begin, class End, class Before, class Visit>
  void fold_window(size_t count, Begin begin, End end, Before before, Visit visit) {
    if (result_.viewport.width < 1) return;
    fold(static_cast<uint32_t>(count), result_.window.begin, result_.window.end,
         static_cast<double>(result_.viewport.width), begin, end, before, visit);
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
  void add_out_of_core_track(Row& row) {
    Node const& node = scene_.nodes[row.node];
    if (node.kind == NodeKind::kRank || node.kind == NodeKind::kDevice) return;
    row.tile = tile_of(scene_, row.node, result_.window);
    if (node.kind == NodeKind::kCounter) {
      if (Curve const* const curve = known_curve(row.tile.get(), node.track, result_.window.begin))
        return add_curve(*curve, node.curve, row.y0, row.y1);
      return add_out_of_core_curve(scene_, row.node, result_, row.y0, row.y1, result_.points);
    }
    if (!row.tile)
      return add_out_of_core_lanes(scene_, row.node, result_, row.y0, is_searching_, result_.items);
    auto const lanes = lanes_of(scene_, *row.tile, row.node);
    // Of an event that was recorded twice the analysis keeps one: a row has room for what it knows.
    for (size_t lane = 0; lane < std::min<size_t>(lanes.size(), node.lane_count); ++lane)
      add_lane(row.node, row.tile->trace, lanes[lane], lane, row.y0);
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
    double const pixel = result_.window.span() / static_cast<double>(result_.viewport.width);
    auto const before = [&](uint32_t first, double time) {
      return lane.begins.before(first, time, shift);
    };
    fold_window(
        lane.rows.size(), begin, end, before,
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          uint32_t const middle = lane.rows[first + (last - first) / 2];
          item.kind = last - first == 1 ? ItemKind::kEvent : ItemKind::kDensity;
          item.index = lane.rows[first];
          item.count = last - first;
          item.paint = paint_of(columns.kind[middle]);
          item.shade = item.count == 1 ? shade_of(columns.name[middle].value) : uint8_t{1};
          item.fill =
              item.count == 1
                  ? 1.0F
                  : static_cast<float>(std::clamp(
                        static_cast<double>(busy(columns, lane, first, last)) / pixel, 0.0, 1.0));
          item.faded =
              is_searching_ && (item.count > 1 || !is_wanted(node.rank, trace, item.index));
          push(item, x0, x1);
        });
  }

  /// Σ dur of the lane's elements [first, last).
  static int64_t busy(model::Trace::Columns const& columns, Lane const& lane, uint32_t first,
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

  /// A closed rank shows its devices' time, one above the other.
  void add_strips(uint32_t rank_node, float y0, float y1) {
    // Thinner ones could not be told from each other: further devices are seen when the rank is
    // opened.
    constexpr float kThinnest = 4;
    float const scale = result_.viewport.scale;
    float const low = y0 + std::round(3 * scale);
    float const high = y1 - std::round(4 * scale);
    std::vector<uint32_t> devices;
    auto const most = static_cast<size_t>(std::max((high - low) / (kThinnest * scale), 1.0F));
    // A rank's devices are the first of its children.
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
      add_segments(devices[i], top, std::max(bottom, top + 1));
    }
  }

  void add_segments(uint32_t node, float y0, float y1) {
    std::shared_ptr<Tile const> tile;
    if (scene_.far) {
      if (scene_.nodes[node].kind != NodeKind::kDevice) return;
      tile = tile_of(scene_, node, result_.window);
      if (!tile) return add_out_of_core_strip(scene_, node, result_, y0, y1, result_.items);
    }
    auto const& segments = tile ? segments_of(scene_, *tile, node) : scene_.nodes[node].segments;
    Item item;
    item.kind = ItemKind::kSegment;
    item.node = node;
    item.y0 = y0;
    item.y1 = y1;
    fold_window(
        segments.size(), [&](uint32_t i) { return segments[i].begin; },
        [&](uint32_t i) { return segments[i].end; },
        [&](uint32_t first, double time) { return segments.begins().before(first, time); },
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          item.index = segments.longest(first, last);
          item.count = last - first;
          item.paint = segments[item.index].paint;
          item.idle = segments[item.index].gap.has_value();
          if (tile) item.index = segments[item.index].gap.value_or(StripPiece::kNoGap);
          push(item, x0, x1);
        });
  }

  /// `range`: whose lowest and highest value fill the row.
  void add_curve(Curve const& curve, Curve const& range, float y0, float y1) {
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
      double const high = at < last ? std::max(now, highest(curve, at, last)) : now;
      result_.points.push_back({static_cast<float>(column), y(now), y(high)});
    }
  }

  static double highest(Curve const& curve, uint32_t first, uint32_t last) {
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

  /// Every how many steps a line is drawn, so that lines are no denser than kMinStepGap on average:
  /// 1, 2, 5, 10, 20 …
  int64_t step_stride(int64_t mean_ns) const {
    constexpr double kMinStepGap = 6;
    double const gap = static_cast<double>(mean_ns) / result_.window.span() *
                       static_cast<double>(result_.viewport.width);
    int64_t stride = 1;
    for (int round = 0; static_cast<double>(stride) * gap <
                            kMinStepGap * static_cast<double>(result_.viewport.scale) &&
                        stride < int64_t{1} << 40;
         ++round)
      stride = round % 3 == 1 ? stride / 2 * 5 : stride * 2;
    return stride;
  }

  /// The first device's steps over all rows of its rank: every one, or those whose numbers are
  /// multiples of a round number.
  void add_steps() {
    auto const& steps = scene_.analysis.steps;
    for (size_t r = 0; r < result_.rows.size();) {
      uint32_t const rank = scene_.nodes[result_.rows[r].node].rank;
      size_t last = r;
      bool const pinned = result_.rows[r].pinned;
      while (last + 1 < result_.rows.size() &&
             scene_.nodes[result_.rows[last + 1].node].rank == rank &&
             result_.rows[last + 1].pinned == pinned)
        ++last;
      if (!scene_.is_analyzed) {
        auto const [known, mean] = steps_of_files(scene_, rank, result_);
        for (OutOfCoreStep const& step : known)
          if (step.step % step_stride(mean) == 0)
            result_.steps.push_back(
                {step.x, result_.rows[r].y0, result_.rows[last].y1, step.step, pinned});
        r = last + 1;
        continue;
      }
      auto const first_of = [&](uint32_t wanted) {
        return std::partition_point(steps.begin(), steps.end(), [&](analyzer::StepStats const& s) {
          return s.ref.rank_index < static_cast<int32_t>(wanted);
        });
      };
      auto step = first_of(rank);
      auto const end = first_of(rank + 1);
      auto const device_end = std::find_if(
          step, end, [&](analyzer::StepStats const& s) { return !(s.ref == step->ref); });
      step = std::partition_point(step, device_end, [&](analyzer::StepStats const& s) {
        return static_cast<double>(scene_.to_view(s.window.begin)) < result_.window.begin;
      });
      auto const of_device = first_of(rank);
      int64_t const mean =
          of_device == device_end
              ? 1
              : std::max<int64_t>(((device_end - 1)->window.end - of_device->window.begin) /
                                      std::max<int64_t>(device_end - of_device, 1),
                                  1);
      int64_t const stride = step_stride(mean);
      for (; step != device_end; ++step) {
        float const x = result_.x_of(static_cast<double>(scene_.to_view(step->window.begin)));
        if (x > result_.viewport.width) break;
        if (step->step % stride == 0)
          result_.steps.push_back(
              {x, result_.rows[r].y0, result_.rows[last].y1, step->step, pinned});
      }
      r = last + 1;
    }
  }

  void add_ticks() {
    // Labels are at most 14 characters long: "12.345678901 s".
    double const min_gap = 125.0 * static_cast<double>(result_.viewport.scale);
    double const width = static_cast<double>(result_.viewport.width);
    if (width < 1) return;
    double const rough = result_.window.span() / width * min_gap;
    double const power = std::pow(10.0, std::floor(std::log10(rough)));
    double gap = power * 10;
    for (double const nice : {1.0, 2.0, 5.0})
      if (power * nice >= rough) {
        gap = power * nice;
        break;
      }
    gap = std::max(gap, 1.0);
    double const end = std::min(result_.window.end, static_cast<double>(scene_.length) + gap);
    double const largest = std::max(std::abs(result_.window.begin), std::abs(end));
    double const unit = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : largest >= 1e3 ? 1e3 : 1;
    for (double k = std::max(std::ceil(result_.window.begin / gap), 0.0); k * gap < end; ++k)
      result_.ticks.push_back({result_.x_of(k * gap), format_time_in(k * gap, gap, unit)});
  }

  float lane_top(Row const& row, uint32_t lane) const {
    return row.y0 + std::round((kTrackPad / 2 + static_cast<float>(lane) * kLaneHeight) *
                               result_.viewport.scale);
  }

  /// Where a hit is drawn. Of hits that are not in memory no more is known than their track: the
  /// first lane stands for all.
  struct HitPlace {
    uint32_t track, depth;
    Paint paint;
  };
  HitPlace place_of(Selection const& hit) const {
    auto const place = scene_.store->place_of(scene_, hit);
    if (!place) return {0, kMaxLanes, Paint::kStep};
    if (place->row)
      return {place->track, place->depth, paint_of(scene_.trace(hit.rank).kind(*place->row))};
    return {place->track, place->depth == Selection::kAnyDepth ? 0 : place->depth, Paint::kStep};
  }

  /// Hits of the search that are too thin to be drawn alone: a mark a pixel. Of very many hits
  /// some, evenly: neighbours share pixels then.
  void add_marks() {
    constexpr size_t kMostHits = 20'000;  // half a millisecond
    auto const& hits = state_.search.hits;
    // A search through files gives its hits while it is pending; else these are the hits of another
    // text.
    if (!is_searching_ || hits.empty()) return;
    if (state_.search.pending && !scene_.store->reads_files()) return;

    std::unordered_map<uint64_t, uint32_t> row_of;
    for (uint32_t r = 0; r < result_.rows.size(); ++r) {
      Node const& node = scene_.nodes[result_.rows[r].node];
      // Rather on the row among its neighbours than on the one at the top.
      if (node.lane_count > 0 && node.kind != NodeKind::kCommunicator)
        row_of.insert_or_assign(uint64_t{node.rank} << 32U | node.track, r);
    }
    auto const begin_of = [&](Selection const& hit) {
      return static_cast<double>(scene_.when(hit).begin);
    };
    auto const first = std::partition_point(hits.begin(), hits.end(), [&](Selection const& h) {
      return begin_of(h) < result_.window.begin;
    });
    auto const last = std::partition_point(
        first, hits.end(), [&](Selection const& h) { return begin_of(h) < result_.window.end; });
    auto const count = static_cast<size_t>(last - first);
    size_t const stride = count / kMostHits + 1;
    for (size_t i = 0; i < count; i += stride) {
      Selection const& hit = first[static_cast<std::ptrdiff_t>(i)];
      HitPlace const at = place_of(hit);
      auto const row = row_of.find(uint64_t{hit.rank} << 32U | at.track);
      if (row == row_of.end() || at.depth >= kMaxLanes) continue;
      model::Interval const when = scene_.when(hit);
      double const pixels = static_cast<double>(when.length()) / result_.window.span() *
                            static_cast<double>(result_.viewport.width);
      if (pixels >= 1) continue;
      Item item;
      item.index = hit.index;
      item.node = result_.rows[row->second].node;
      item.paint = at.paint;
      item.x0 =
          std::floor(clamp_x(static_cast<double>(result_.x_of(static_cast<double>(when.begin)))));
      item.x1 = item.x0 + 1;
      item.y0 = lane_top(result_.rows[row->second], at.depth);
      item.y1 = item.y0 + std::round((kLaneHeight - 1) * result_.viewport.scale);
      if (!keep_in_view(item, result_.rows[row->second])) continue;
      result_.marks.push_back(item);
    }
  }

  /// Cuts what lies under the pinned rows from something on a row that scrolls; false when nothing
  /// is left.
  bool keep_in_view(Item& item, Row const& row) const {
    item.y0 = std::max(item.y0, result_.top_of(row.pinned));
    return item.y1 > item.y0;
  }

  /// The row on which a node is drawn: its own, or that of the closed group around it, or its
  /// pinned one.
  Row const* row_showing(uint32_t node) const {
    Row const* best = nullptr;
    for (Row const& row : result_.rows) {
      bool const around =
          !row.open && !row.pinned && row.node < node && scene_.nodes[row.node].subtree_end > node;
      if (row.node == node || around) best = &row;
    }
    return best;
  }

  void add_path() {
    if (path_ == nullptr || !state_.panels.path) return;
    auto const& pieces = path_->pieces;
    fold_window(
        pieces.size(), [&](uint32_t i) { return pieces[i].begin; },
        [&](uint32_t i) { return pieces[i].end; }, [](uint32_t first, double) { return first; },
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          // Of the pieces of a pixel the longest of some, as for segments.
          uint32_t best = first;
          for (uint32_t i = first; i < last; i += std::max(1U, (last - first) / 8))
            if (pieces[i].end - pieces[i].begin > pieces[best].end - pieces[best].begin) best = i;
          if (result_.rows.empty()) return;
          Row const* const row = row_showing(pieces[best].node);
          auto const first_row = std::find_if(result_.rows.begin(), result_.rows.end(),
                                              [](Row const& r) { return !r.pinned; });
          bool const is_above =
              first_row != result_.rows.end() && pieces[best].node < first_row->node;
          float const edge = is_above ? result_.pinned_height : result_.viewport.height;
          PathItem item{clamp_x(x0), clamp_x(x1), edge, edge, best, last - first};
          if (row != nullptr) {
            item.y0 = row->y0;
            item.y1 = row->y1;
          }
          if (row != nullptr && row->node == pieces[best].node &&
              scene_.nodes[row->node].lane_count > 0) {
            item.y0 = lane_top(*row, pieces[best].lane);
            item.y1 = item.y0 + std::round((kLaneHeight - 1) * result_.viewport.scale);
          }
          if (row != nullptr && item.y1 <= result_.top_of(row->pinned))
            item.y0 = item.y1 = result_.top_of(row->pinned);
          result_.path.push_back(item);
        });
  }

  /// The rectangle of an event or gap on its row, if that row can be seen.
  std::optional<Item> place(Selection const& selection) const {
    auto const index = scene_.node_of(selection);
    if (!index) return std::nullopt;
    for (Row const& row : result_.rows) {
      if (row.node != *index) continue;
      // Rather on the row among its neighbours than on the one at the top.
      bool const again = std::any_of(&row + 1, result_.rows.data() + result_.rows.size(),
                                     [&](Row const& other) { return other.node == *index; });
      if (again) continue;
      model::Interval const when = scene_.when(selection);
      Item item;
      item.index = selection.index;
      item.y0 = row.y0;
      item.y1 = row.y1;
      if (selection.what == Selection::What::kEvent) {
        auto const at = scene_.find(selection);
        item.y0 = lane_top(row, at ? at->trace->columns().depth[at->row] : 0);
        item.y1 = item.y0 + std::round((kLaneHeight - 1) * result_.viewport.scale);
      }
      double const scale = static_cast<double>(result_.viewport.width) / result_.window.span();
      double const x0 = (static_cast<double>(when.begin) - result_.window.begin) * scale;
      double const x1 = (static_cast<double>(when.end) - result_.window.begin) * scale;
      if (x1 < 0 || x0 > static_cast<double>(result_.viewport.width)) return std::nullopt;
      item.x0 = clamp_x(x0);
      item.x1 = std::max(clamp_x(x1), item.x0 + 1);
      if (!keep_in_view(item, row)) return std::nullopt;
      return item;
    }
    return std::nullopt;
  }

  void add_related() {
    if (!state_.selection) return;
    auto const chosen = place(*state_.selection);
    if (chosen) result_.related.push_back(*chosen);
    auto const at = scene_.find(*state_.selection);
    if (!at) return;
    auto const& columns = at->trace->columns();
    auto const link = columns.link[at->row];
    if (link.valid()) {
      Selection const other = scene_.selection_of(state_.selection->rank, *at->trace, link.value);
      bool const is_launch = columns.kind[at->row] == model::EventKind::kLaunch;
      add_arrow(is_launch ? *state_.selection : other, is_launch ? other : *state_.selection);
      if (auto const placed = place(other)) result_.related.push_back(*placed);
    }
    if (columns.kind[at->row] == model::EventKind::kCollective) add_participants();
  }

  /// From the launch call to its device op; also when one of both is outside the window, but its
  /// row is not.
  void add_arrow(Selection const& launch, Selection const& op) {
    auto const from = place(launch);
    auto const to = place(op);
    if (!from || !to) return;
    // An op may start before the call that launched it returns.
    float const x = std::clamp(to->x0, from->x0, from->x1);
    result_.arrows.push_back({x, (from->y0 + from->y1) / 2, to->x0, (to->y0 + to->y1) / 2});
  }

  void add_participants() {
    analyzer::CollectiveStats const* facts = scene_.collective_of(*state_.selection);
    if (facts == nullptr) return;
    for (auto const& participant : facts->participants) {
      if (participant.ref.rank_index < 0) continue;
      Selection const other = scene_.selection_of(participant);
      if (other == *state_.selection) continue;
      if (auto const placed = place(other)) result_.related.push_back(*placed);
    }
  }

  /// Over the rows of the evidence's track, or of all its device when it names none.
  void add_evidence() {
    if (!state_.finding || state_.finding->finding >= scene_.analysis.findings.size()) return;
    auto const& evidence = scene_.analysis.findings[state_.finding->finding].evidence;
    for (uint32_t i = 0; i < evidence.size(); ++i) {
      float const x0 = result_.x_of(static_cast<double>(scene_.to_view(evidence[i].when.begin)));
      float const x1 = result_.x_of(static_cast<double>(scene_.to_view(evidence[i].when.end)));
      if (!(x1 >= 0 && x0 <= result_.viewport.width)) continue;
      auto const node = scene_.node_of(evidence[i]);
      if (!node) continue;
      Item item;
      item.index = i;
      item.x0 = clamp_x(static_cast<double>(x0));
      item.x1 = std::max(clamp_x(static_cast<double>(x1)), item.x0 + 1);
      item.y0 = result_.viewport.height;
      for (Row const& row : result_.rows) {
        if (row.pinned || row.node < *node || row.node >= scene_.nodes[*node].subtree_end) continue;
        item.y0 = std::min(item.y0, std::max(row.y0, result_.pinned_height));
        item.y1 = std::max(item.y1, row.y1);
      }
      if (item.y1 > item.y0) result_.evidence.push_back(item);
    }
  }

  Scene const& scene_;
  ViewState const& state_;
  PathLine const* path_;
  Query query_;
  bool is_searching_;
  std::unordered_map<uint64_t, bool> wanted_names_;  ///< by (rank, name)
  Layout result_;
};

}  // namespace

Layout lay_out(Scene const& scene, ViewState const& state, Viewport viewport,
               PathLine const* path) {
  return Painter(scene, state, viewport, path).paint();
}

}  // namespace stepscope::viewer
