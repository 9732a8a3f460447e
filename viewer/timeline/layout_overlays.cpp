#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "viewer/event_store/event_store.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/layout_parts.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

class OverlayPainter {
 public:
  OverlayPainter(Scene const& scene, ViewState const& state, PathLine const* path, Layout& layout)
      : scene_(scene), state_(state), path_(path), result_(layout) {}

  void paint() {
    add_steps();
    add_ticks();
    add_marks();
    add_path();
    add_related();
    add_evidence();
  }

 private:
  /// Every how many steps a line is drawn, so that lines are no denser than kMinStepGap on average:
  /// 1, 2, 5, 10, 20 …
  int64_t step_stride(int64_t mean_ns) const {
    constexpr double kMinStepGap = 6;
    double const gap = static_cast<double>(mean_ns) / result_.window.span() *
                       static_cast<double>(result_.viewport.width);
    double const least = kMinStepGap * static_cast<double>(result_.viewport.scale);

    int64_t stride = 1;
    for (int round = 0; static_cast<double>(stride) * gap < least && stride < int64_t{1} << 40;
         ++round)
      stride = round % 3 == 1 ? stride / 2 * 5 : stride * 2;
    return stride;
  }

  /// The first device's steps over all rows of its rank: every one, or those whose numbers are
  /// multiples of a round number.
  void add_steps() {
    for (size_t first = 0; first < result_.rows.size();) {
      size_t const last = last_row_of_rank(first);
      add_steps_of_rows(first, last);
      first = last + 1;
    }
  }

  void add_steps_of_rows(size_t first_row, size_t last_row) {
    Row const& first = result_.rows[first_row];
    RankSteps const steps =
        scene_.store->steps(scene_, scene_.nodes[first.node].rank, result_.window);
    int64_t const stride = step_stride(steps.mean_ns);

    for (RankSteps::Step const& step : steps.steps) {
      float const x = result_.x_of(static_cast<double>(step.begin));
      if (x > result_.viewport.width) break;
      if (step.number % stride == 0)
        result_.steps.push_back(
            {x, first.y0, result_.rows[last_row].y1, step.number, first.pinned});
    }
  }

  /// The last row of the rank that `first` begins, among the pinned rows or among the others.
  size_t last_row_of_rank(size_t first) const {
    auto const& rows = result_.rows;
    size_t last = first;
    while (last + 1 < rows.size() &&
           scene_.nodes[rows[last + 1].node].rank == scene_.nodes[rows[first].node].rank &&
           rows[last + 1].pinned == rows[first].pinned)
      ++last;
    return last;
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
    double const unit = time_unit(std::max(std::abs(result_.window.begin), std::abs(end)));
    // 0 first: of 0 and −0 it is the one that stays.
    for (double k = std::max(0.0, std::ceil(result_.window.begin / gap)); k * gap < end; ++k)
      result_.ticks.push_back({result_.x_of(k * gap), format_time_in(k * gap, gap, unit)});
  }

  float lane_top(Row const& row, uint32_t lane) const {
    return row.y0 + std::round((kTrackPad / 2 + static_cast<float>(lane) * kLaneHeight) *
                               result_.viewport.scale);
  }

  /// Where a hit is drawn. Only the track of a hit that is not in memory is known: its first lane
  /// stands for all.
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

  /// Hits of the search that are too thin to be drawn alone: a mark a pixel. Very many hits are
  /// thinned out evenly: neighbours share pixels then.
  void add_marks() {
    constexpr size_t kMostHits = 20'000;  // half a millisecond
    auto const& hits = state_.search.hits;
    if (hits.empty() || parse_query(state_.search.text).is_empty()) return;

    auto const begin_of = [&](Selection const& hit) {
      return static_cast<double>(scene_.when(hit).begin);
    };
    auto const first = std::partition_point(hits.begin(), hits.end(), [&](Selection const& h) {
      return begin_of(h) < result_.window.begin;
    });
    auto const last = std::partition_point(
        first, hits.end(), [&](Selection const& h) { return begin_of(h) < result_.window.end; });

    auto const row_of = rows_of_tracks();
    auto const count = static_cast<size_t>(last - first);
    size_t const stride = count / kMostHits + 1;
    for (size_t i = 0; i < count; i += stride)
      add_mark(first[static_cast<std::ptrdiff_t>(i)], row_of);
  }

  using RowOfTrack = std::unordered_map<uint64_t, uint32_t>;  ///< by (rank, track)

  RowOfTrack rows_of_tracks() const {
    RowOfTrack row_of;
    for (uint32_t r = 0; r < result_.rows.size(); ++r) {
      Node const& node = scene_.nodes[result_.rows[r].node];
      // Rather on the row among its neighbours than on the one at the top.
      if (node.lane_count > 0 && node.kind != NodeKind::kCommunicator)
        row_of.insert_or_assign(uint64_t{node.rank} << 32U | node.track, r);
    }
    return row_of;
  }

  void add_mark(Selection const& hit, RowOfTrack const& row_of) {
    HitPlace const at = place_of(hit);
    auto const found = row_of.find(uint64_t{hit.rank} << 32U | at.track);
    if (found == row_of.end() || at.depth >= kMaxLanes) return;

    model::Interval const when = scene_.when(hit);
    double const pixels = static_cast<double>(when.length()) / result_.window.span() *
                          static_cast<double>(result_.viewport.width);
    if (pixels >= 1) return;

    Row const& row = result_.rows[found->second];
    double const x = static_cast<double>(result_.x_of(static_cast<double>(when.begin)));
    Item item;
    item.index = hit.index;
    item.node = row.node;
    item.paint = at.paint;
    item.x0 = std::floor(clamp_x(result_, x));
    item.x1 = item.x0 + 1;
    item.y0 = lane_top(row, at.depth);
    item.y1 = item.y0 + std::round((kLaneHeight - 1) * result_.viewport.scale);
    if (keep_in_view(item, row)) result_.marks.push_back(item);
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

  /// Pieces of the critical path that are narrower, at scale 1, are thin.
  static constexpr float kThinPath = 4;

  void add_path() {
    if (path_ == nullptr || !state_.panels.path || result_.rows.empty()) return;

    auto const& pieces = path_->pieces;
    fold_window(
        result_, pieces.size(), [&](uint32_t i) { return pieces[i].begin; },
        [&](uint32_t i) { return pieces[i].end; }, [](uint32_t first, double) { return first; },
        [&](uint32_t first, uint32_t last, double x0, double x1) {
          // The longest of a few pieces of the pixel, as for segments.
          uint32_t best = first;
          for (uint32_t i = first; i < last; i += std::max(1U, (last - first) / 8))
            if (pieces[i].end - pieces[i].begin > pieces[best].end - pieces[best].begin) best = i;

          PathItem item{clamp_x(result_, x0), clamp_x(result_, x1), 0, 0, best, last - first};
          item.is_thin = x1 - x0 < static_cast<double>(kThinPath * result_.viewport.scale);
          place_path_item(item, pieces[best]);
          result_.path.push_back(item);
        });
    join_thin_pieces();
  }

  /// Thin pieces of a row with little between them become a band.
  void join_thin_pieces() {
    std::unordered_map<float, PathItem*> last;  // by the foot of the row
    for (PathItem& item : result_.path) {
      if (!item.is_thin) continue;
      PathItem*& before = last[item.y1];
      if (before != nullptr && item.x0 - before->x1 < kThinPath * result_.viewport.scale)
        before->x1 = std::max(before->x1, item.x0);
      before = &item;
    }
  }

  /// Puts the item on the row of its piece, or at the edge behind which that row is.
  void place_path_item(PathItem& item, PathLine::Piece const& piece) const {
    Row const* const row = row_showing(piece.node);
    if (row == nullptr) {
      auto const first_row = std::find_if(result_.rows.begin(), result_.rows.end(),
                                          [](Row const& r) { return !r.pinned; });
      bool const is_above = first_row != result_.rows.end() && piece.node < first_row->node;
      item.y0 = item.y1 = is_above ? result_.pinned_height : result_.viewport.height;
      return;
    }

    item.y0 = row->y0;
    item.y1 = row->y1;
    if (row->node == piece.node && scene_.nodes[row->node].lane_count > 0 && !item.is_thin) {
      item.y0 = lane_top(*row, piece.lane);
      item.y1 = item.y0 + std::round((kLaneHeight - 1) * result_.viewport.scale);
    }
    if (item.y1 <= result_.top_of(row->pinned)) item.y0 = item.y1 = result_.top_of(row->pinned);
  }

  /// The rectangle of an event or gap on its row, if that row can be seen.
  std::optional<Item> place(Selection const& selection) const {
    auto const index = scene_.node_of(selection);
    if (!index) return std::nullopt;
    Row const* const end = result_.rows.data() + result_.rows.size();
    for (Row const& row : result_.rows) {
      if (row.node != *index) continue;
      // Rather on the row among its neighbours than on the one at the top.
      bool const again =
          std::any_of(&row + 1, end, [&](Row const& other) { return other.node == *index; });
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
      item.x0 = clamp_x(result_, x0);
      item.x1 = std::max(clamp_x(result_, x1), item.x0 + 1);
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

  /// The row of a node, or the one that is closed over it.
  [[nodiscard]] std::optional<uint32_t> row_with(uint32_t node) const {
    std::optional<uint32_t> found;
    for (uint32_t i = 0; i < result_.rows.size(); ++i) {
      Row const& row = result_.rows[i];
      bool const is_over = row.node < node && node < scene_.nodes[row.node].subtree_end;
      if (!row.pinned && (row.node == node || (is_over && !row.open))) found = i;
    }
    return found;
  }

  /// Over the rows of the evidence's track, or of all its device when it names none. Over the row
  /// that is closed over them, where they are not shown.
  void add_evidence() {
    if (!state_.finding || state_.finding->finding >= scene_.analysis.findings.size()) return;
    analyzer::Finding const& finding = scene_.analysis.findings[state_.finding->finding];
    auto const& evidence = finding.evidence;
    if (auto const cause = cause_elsewhere(scene_, finding)) result_.cause = row_with(*cause);

    for (uint32_t i = 0; i < evidence.size(); ++i) {
      float const x0 = result_.x_of(static_cast<double>(scene_.to_view(evidence[i].when.begin)));
      float const x1 = result_.x_of(static_cast<double>(scene_.to_view(evidence[i].when.end)));
      if (!(x1 >= 0 && x0 <= result_.viewport.width)) continue;
      auto const node = scene_.node_of(evidence[i]);
      if (!node) continue;

      Item item;
      item.index = i;
      item.x0 = clamp_x(result_, static_cast<double>(x0));
      item.x1 = std::max(clamp_x(result_, static_cast<double>(x1)), item.x0 + 1);
      item.y0 = result_.viewport.height;
      for (Row const& row : result_.rows) {
        if (row.pinned || row.node < *node || row.node >= scene_.nodes[*node].subtree_end) continue;
        item.y0 = std::min(item.y0, std::max(row.y0, result_.pinned_height));
        item.y1 = std::max(item.y1, row.y1);
      }
      if (auto const closed = item.y1 > item.y0 ? std::nullopt : row_with(*node)) {
        item.y0 = std::max(result_.rows[*closed].y0, result_.pinned_height);
        item.y1 = result_.rows[*closed].y1;
      }
      if (item.y1 > item.y0) result_.evidence.push_back(item);
    }
  }

  Scene const& scene_;
  ViewState const& state_;
  PathLine const* path_;
  Layout& result_;
};

}  // namespace

void add_overlays(Scene const& scene, ViewState const& state, PathLine const* path,
                  Layout& layout) {
  OverlayPainter(scene, state, path, layout).paint();
}

}  // namespace stepscope::viewer
