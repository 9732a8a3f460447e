#include "viewer/queries/host_activity.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analyzer/metrics/host/innermost_host_events.h"
#include "viewer/scene/fold.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

/// Lanes that a strip shows: a step, its phases, and what waits in them.
constexpr size_t kStripLanes = 3;

/// Rows that share a column are one piece, of the longest of them.
void add_strip_lane(Scene const& scene, Node const& node, Lane const& lane,
                    OverviewStrips const& strips, std::vector<OverviewStrips::Piece>& pieces) {
  model::Trace const& trace = scene.trace(node.rank);
  auto const& columns = trace.columns();
  int64_t const shift = scene.shift(node.rank);
  auto const& rows = lane.rows;
  size_t const first_piece = pieces.size();

  fold(
      static_cast<uint32_t>(rows.size()), 0, static_cast<double>(scene.length),
      static_cast<double>(strips.columns),
      [&](uint32_t i) { return columns.start[rows[i]] + shift; },
      [&](uint32_t i) { return trace.end(rows[i]) + shift; },
      [&](uint32_t first, double time) { return lane.begins.before(first, time, shift); },
      [&](uint32_t first, uint32_t last, double x0, double x1) {
        uint32_t const seen =
            std::min(last, first + kBusyBlock);  // of very many in a column some tell its colour
        uint32_t best = first;
        for (uint32_t i = first; i < seen; ++i)
          if (columns.dur[rows[i]] > columns.dur[rows[best]]) best = i;
        if (!analyzer::is_host_activity(columns.kind[rows[best]])) return;

        auto const begin = std::floor(static_cast<float>(x0));
        OverviewStrips::Piece const piece{begin,
                                          std::max(std::floor(static_cast<float>(x1)), begin + 1),
                                          paint_of(columns.kind[rows[best]]), false};
        bool const joins = pieces.size() > first_piece && pieces.back().paint == piece.paint &&
                           pieces.back().last >= begin;
        if (joins)
          pieces.back().last = piece.last;
        else
          pieces.push_back(piece);
      });
}

/// Sums of one trace, by name.
using OpsByName = std::unordered_map<uint32_t, RangeStatistics::Op>;

/// Goes through a thread's events in a range as the analysis does (metrics/host/host_time.cpp): the
/// innermost open one gets the time.
class ThreadSweep {
 public:
  ThreadSweep(Scene const& scene, Node const& node, int64_t begin, int64_t end, OpsByName& by_name)
      : node_(node),
        trace_(scene.trace(node.rank)),
        shift_(scene.shift(node.rank)),
        begin_(begin),
        end_(end),
        now_(begin),
        by_name_(by_name) {}

  /// Adds to the sums. Returns the time in which anything ran.
  int64_t run(uint64_t& count) {
    auto const& columns = trace_.columns();
    uint32_t const last = trace_.rows_of(model::TrackId{node_.track}).last;
    int64_t busy = 0, busy_until = begin_;
    for (uint32_t row = first_row(last); row < last && columns.start[row] + shift_ < end_; ++row) {
      model::EventKind const kind = columns.kind[row];
      int64_t const begin = std::max(columns.start[row] + shift_, begin_),
                    end = std::min(trace_.end(row) + shift_, end_);
      bool const is_before =
          end < begin_ || (end == begin_ && columns.start[row] + shift_ < begin_);
      if (!analyzer::is_host_activity(kind) || is_before) continue;
      ++count;
      busy += std::max<int64_t>(end - std::max(begin, busy_until), 0);
      busy_until = std::max(busy_until, end);
      advance(begin);

      RangeStatistics::Op* op = nullptr;  // a step is no range
      if (kind != model::EventKind::kStep) {
        op = &by_name_[columns.name[row].value];
        op->paint = paint_of(kind);
        op->count += 1;
      }
      if (begin < end) open_.push_back({op, end});
    }
    advance(end_);
    return busy;
  }

 private:
  struct Open {
    RangeStatistics::Op* op;  ///< stays where it is while others are added to the map
    int64_t end;
  };

  /// The first that has not ended when the range begins; those of a lane follow one another.
  [[nodiscard]] uint32_t first_row(uint32_t none) const {
    uint32_t first = none;
    for (Lane const& lane : node_.lanes) {
      auto const row = std::partition_point(lane.rows.begin(), lane.rows.end(), [&](uint32_t r) {
        return trace_.end(r) + shift_ <= begin_;
      });
      if (row != lane.rows.end()) first = std::min(first, *row);
    }
    return first;
  }

  void advance(int64_t until) {
    while (!open_.empty() && now_ < until) {
      Open const top = open_.back();
      int64_t const end = std::min(top.end, until);
      if (end > now_) {
        if (top.op != nullptr) top.op->total += end - now_;
        now_ = end;
      }
      if (top.end <= now_) open_.pop_back();
    }

    now_ = std::max(now_, until);
  }

  Node const& node_;
  model::Trace const& trace_;
  int64_t shift_, begin_, end_, now_;
  OpsByName& by_name_;
  std::vector<Open> open_;
};

}  // namespace

std::vector<uint32_t> host_thread_nodes(Scene const& scene) {
  std::vector<std::pair<int64_t, uint32_t>> by_time;
  for (analyzer::HostStats const& host : scene.analysis.hosts)
    for (analyzer::HostThreadStats const& thread : host.threads) {
      uint32_t const node = scene.track_nodes[static_cast<size_t>(host.rank_index)][thread.track];
      if (node != Scene::kNoNode && !scene.nodes[node].lanes.empty())
        by_time.emplace_back(-thread.busy_ns, node);
    }
  std::sort(by_time.begin(), by_time.end());

  std::vector<uint32_t> nodes;
  nodes.reserve(by_time.size());
  for (auto const& [time, node] : by_time) nodes.push_back(node);
  return nodes;
}

void add_host_strips(Scene const& scene, OverviewStrips& strips, std::stop_token const& stop) {
  std::vector<uint32_t> nodes = host_thread_nodes(scene);
  if (nodes.size() > kMaxStrips) nodes.resize(kMaxStrips);
  std::sort(nodes.begin(), nodes.end());  // as in the timeline

  for (uint32_t const index : nodes) {
    if (stop.stop_requested()) return;
    Node const& node = scene.nodes[index];
    auto& pieces = strips.devices.emplace_back();
    for (size_t lane = 0; lane < std::min(node.lanes.size(), kStripLanes); ++lane)
      add_strip_lane(scene, node, node.lanes[lane], strips, pieces);
  }
}

void add_host_statistics(Scene const& scene, int64_t begin, int64_t end, RangeStatistics& result,
                         std::stop_token const& stop) {
  std::vector<uint32_t> const nodes = host_thread_nodes(scene);
  std::vector<OpsByName> by_rank(scene.run.ranks.size());
  for (uint32_t const index : nodes) {
    if (stop.stop_requested()) return;
    int64_t const busy =
        ThreadSweep(scene, scene.nodes[index], begin, end, by_rank[scene.nodes[index].rank])
            .run(result.op_count);
    if (busy > 0) result.threads.push_back({index, busy});
  }

  std::unordered_map<std::string, RangeStatistics::Op> joined;
  for (uint32_t rank = 0; rank < by_rank.size(); ++rank)
    for (auto const& [id, op] : by_rank[rank]) {
      std::string name = printable_name(scene.trace(rank).text(model::StringId{id}));
      RangeStatistics::Op& into = joined[name];
      into.name = std::move(name);
      into.paint = op.paint;
      into.count += op.count;
      into.total += op.total;
    }
  for (auto& [name, op] : joined) result.ops.push_back(std::move(op));
  std::stable_sort(result.threads.begin(), result.threads.end(),
                   [](auto const& a, auto const& b) { return a.busy > b.busy; });
}

}  // namespace stepscope::viewer
