#include "viewer/event_store/out_of_core/path.h"

#include <algorithm>
#include <utility>

#include "analyzer/metrics/critical_path/streamed_path.h"
#include "run_loading/streamed_files.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {
namespace {

/// Events of all processes in a piece of view time, about.
uint64_t events_in(Scene const& scene, model::Interval when) {
  OutOfCoreRun const& run = out_of_core_run(scene);
  uint64_t events = 0;
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank) {
    int64_t const back = add(~scene.shift(rank), 1);
    for (uint32_t track = 0; track < run.rank(rank).tracks.size(); ++track)
      events += run.starts(rank, track, add(when.begin, back), add(when.end, back));
  }
  return events;
}

/// Halves a piece of view time until each part has few enough events. An instant that has more,
/// which memory would not hold, is left out.
void add_stretches(Scene const& scene, model::Interval when, uint64_t most_events,
                   std::vector<model::Interval>& stretches) {
  if (events_in(scene, when) <= most_events) return stretches.push_back(when);
  if (when.length() <= 1) return;
  int64_t const middle = when.begin + when.length() / 2;
  add_stretches(scene, {when.begin, middle}, most_events, stretches);
  add_stretches(scene, {middle, when.end}, most_events, stretches);
}

/// How much longer than the stretch a window must be so that its path is that of the run: a step.
int64_t around_stretches(analyzer::Analysis const& analysis) {
  int64_t longest = 0;
  for (analyzer::StepStats const& step : analysis.steps)
    if (!step.warmup)
      longest = std::max({longest, step.window.length(), step.host_window.length()});
  return longest;
}

/// The pieces on the rows where they are drawn.
std::vector<PathLine::Piece> placed(PathPlaces const& places,
                                    analyzer::PathOfStretch const& found) {
  std::vector<PathLine::Piece> pieces;

  for (analyzer::PathPiece const& of : found.pieces) {
    if (of.rank_index < 0) continue;
    auto piece = places.place(of, found.run.ranks[static_cast<size_t>(of.rank_index)].trace);
    if (!piece) continue;
    piece->row.reset();  // of a trace that is forgotten
    pieces.push_back(*piece);
  }
  return pieces;
}

}  // namespace

void find_path_in_files(Scene const& scene, PathFeed& feed, std::stop_token const& stop,
                        uint64_t most_stretch_events) {
  if (!scene.analysis.critical_path) return;
  import::RunSources const& sources = out_of_core_run(scene).sources();

  auto const read_window = [&](size_t rank,
                               model::Interval window) -> base::Expected<model::RankTrace> {
    auto read = run_loading::read_path_window(sources.ranks[rank], window);
    // As in the analysis, it is left out.
    if (!read) return model::RankTrace();
    return read;
  };

  analyzer::StreamedRun const run{scene.run, {}, read_window};
  PathPlaces const places(scene);
  int64_t const least =
      scene.events > kMostPathPieces ? scene.length / static_cast<int64_t>(kMostPathPieces) : 0;
  int64_t const step = around_stretches(scene.analysis);

  std::vector<model::Interval> stretches;
  // What ends with the run is in it.
  add_stretches(scene, {0, add(scene.length, 1)}, most_stretch_events, stretches);

  for (size_t i = 0; i < stretches.size(); ++i) {
    model::Interval const stretch{add(stretches[i].begin, scene.origin),
                                  add(stretches[i].end, scene.origin)};
    int64_t const around = step > 0 ? std::min(step, stretch.length()) : stretch.length() / 4;

    auto const found = analyzer::find_path_of_stretch(run, scene.analysis, stretch, around, stop);
    if (stop.stop_requested()) return;
    PathLine const line = found ? line_of(placed(places, *found), least) : PathLine();
    feed.give(line.pieces, static_cast<double>(i + 1) / static_cast<double>(stretches.size()));
  }
}

}  // namespace stepscope::viewer
