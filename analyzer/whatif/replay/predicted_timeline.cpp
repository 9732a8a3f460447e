#include "analyzer/whatif/replay/predicted_timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stepscope::analyzer {
namespace {

bool is_on_track(ReplayNode const& node) {
  bool const is_stretch = node.kind == ReplayNodeKind::kHost && node.row != kNoNode;
  return is_stretch || node.kind == ReplayNodeKind::kOp || node.kind == ReplayNodeKind::kArrival;
}

/// Puts the columns in the order of their begins where a change let ops pass each other.
void sort_by_begin(PredictedTrack& track) {
  if (std::is_sorted(track.begin.begin(), track.begin.end())) return;
  std::vector<uint32_t> order(track.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return track.begin[a] < track.begin[b]; });

  auto const reorder = [&](auto& column) {
    if (column.empty()) return;
    auto sorted = column;
    for (size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
    column = std::move(sorted);
  };
  reorder(track.rows);
  reorder(track.begin);
  reorder(track.end);
  reorder(track.stretches);
}

class PredictedTracks {
 public:
  PredictedTracks(ReplayGraph const& graph, ReplayWeights const& weights, ReplayTimes const& times,
                  ReplayTimes const& recorded, int64_t shift_ns)
      : graph_(graph), weights_(weights), times_(times), recorded_(recorded), shift_ns_(shift_ns) {}

  std::vector<PredictedTrack> collect() && {
    make_tracks();
    for (uint32_t node = 1; node < graph_.nodes.size(); ++node) add(node);
    for (PredictedTrack& track : tracks_) sort_by_begin(track);
    return std::move(tracks_);
  }

 private:
  /// One for each thread and stream with nodes, with room for them.
  void make_tracks() {
    std::vector<std::vector<uint32_t>> counts(graph_.processes.size());
    for (size_t p = 0; p < counts.size(); ++p)
      counts[p].assign(graph_.processes[p].devices.front().trace().tracks().size(), 0);
    for (ReplayNode const& node : graph_.nodes)
      if (is_on_track(node)) ++counts[node.process][node.track];

    for (size_t p = 0; p < counts.size(); ++p) {
      DeviceOps const& device = graph_.processes[p].devices.front();
      place_.emplace_back(counts[p].size(), kNoNode);
      for (uint32_t t = 0; t < counts[p].size(); ++t) {
        if (counts[p][t] == 0) continue;
        place_[p][t] = static_cast<uint32_t>(tracks_.size());
        PredictedTrack& track = tracks_.emplace_back();
        track.process = static_cast<uint32_t>(device.ref.rank_index);
        track.track = t;
        track.rank = device.rank;
        track.rows.reserve(counts[p][t]);
        track.begin.reserve(counts[p][t]);
        track.end.reserve(counts[p][t]);
      }
    }
  }

  void add(uint32_t number) {
    ReplayNode const& node = graph_.nodes[number];
    if (node.kind == ReplayNodeKind::kDeparture) {
      // The arrival of the same op came last on its stream.
      PredictedTrack& track = tracks_[place_[node.process][node.track]];
      track.end.back() = std::max(at(times_, number), track.begin.back());
      return;
    }
    if (!is_on_track(node)) return;

    PredictedTrack& track = tracks_[place_[node.process][node.track]];
    if (node.kind == ReplayNodeKind::kHost) return add_stretch(number, track);
    int64_t const end = at(times_, number);
    append(track, node.row, {end - std::max<int64_t>(weights_.own[number], 0), end});
  }

  /// A stretch begins where the one before it on its thread ends. A call that is cut in two is one
  /// event again.
  void add_stretch(uint32_t number, PredictedTrack& track) {
    Interval const recorded{begin_of_stretch(number, recorded_, graph_.recorded),
                            recorded_.over[number]};
    Interval const predicted{begin_of_stretch(number, times_, weights_) + shift_ns_,
                             at(times_, number)};
    uint32_t const row = graph_.nodes[number].row;

    bool const goes_on = !track.rows.empty() && track.rows.back() == row &&
                         track.stretches.back().end == recorded.begin;
    if (goes_on) {
      track.stretches.back().end = recorded.end;
      track.end.back() = std::max(predicted.end, track.end.back());
      return;
    }
    append(track, row, predicted);
    track.stretches.push_back(recorded);
  }

  /// The first edge of a stretch comes from the stretch before it, or from the begin of time.
  [[nodiscard]] int64_t begin_of_stretch(uint32_t number, ReplayTimes const& times,
                                         ReplayWeights const& weights) const {
    uint32_t const edge = graph_.first_edge[number];
    uint32_t const source = weights.source.empty() ? graph_.source[edge] : weights.source[edge];
    int64_t const over = times.over[number];
    if (weights.lag[edge] == kNoEdge) return over - weights.own[number];
    return std::min(times.over[source] + weights.lag[edge], over);
  }

  static void append(PredictedTrack& track, uint32_t row, Interval when) {
    track.rows.push_back(row);
    track.begin.push_back(when.begin);
    track.end.push_back(std::max(when.begin, when.end));
  }

  [[nodiscard]] int64_t at(ReplayTimes const& times, uint32_t number) const {
    return times.over[number] + shift_ns_;
  }

  ReplayGraph const& graph_;
  ReplayWeights const& weights_;
  ReplayTimes const& times_;
  ReplayTimes const& recorded_;
  int64_t shift_ns_;
  std::vector<std::vector<uint32_t>> place_;  ///< by process and track: place among tracks_
  std::vector<PredictedTrack> tracks_;
};

/// The measured step that was recorded first.
size_t first_measured(ReplayGraph const& graph) {
  size_t first = PredictedTimeline::kNoStep;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    if (!graph.steps[i].is_measured) continue;
    bool const is_earlier = first == PredictedTimeline::kNoStep ||
                            graph.steps[i].when.begin < graph.steps[first].when.begin;
    if (is_earlier) first = i;
  }
  return first;
}

}  // namespace

Interval PredictedTrack::recorded(size_t i) const {
  if (!stretches.empty()) return stretches[i];
  return {rank->trace.start(rows[i]) + rank->offset_ns, rank->trace.end(rows[i]) + rank->offset_ns};
}

PredictedTimeline predicted_timeline(ReplayGraph const& graph, ReplayWeights const& weights,
                                     ReplayTimes const& times, ReplayTimes const& recorded) {
  PredictedTimeline timeline;
  timeline.aligned_step = first_measured(graph);
  int64_t shift_ns = 0;
  if (timeline.aligned_step != PredictedTimeline::kNoStep) {
    ReplayStep const& step = graph.steps[timeline.aligned_step];
    shift_ns =
        std::clamp(step.when.begin - begin_of_step(times, step), -model::kMaxTime, model::kMaxTime);
  }

  timeline.tracks = PredictedTracks(graph, weights, times, recorded, shift_ns).collect();
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    ReplayStep const& step = graph.steps[i];
    int64_t const begin = begin_of_step(times, step) + shift_ns;
    Interval const predicted{begin, std::max(times.step_end[i] + shift_ns, begin)};
    timeline.steps.push_back({step.ref, step.step, step.is_measured, step.when, predicted});
  }
  return timeline;
}

}  // namespace stepscope::analyzer
