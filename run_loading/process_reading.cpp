#include "run_loading/process_reading.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/steps/skeleton_rows.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;

/// All events, with these details and not nested.
file::Selection selection_of(import::TraceSource const& source,
                             std::span<model::DetailTable const> tables) {
  file::ColumnSelection columns{.depth = false, .tables = 0};
  for (model::DetailTable const table : tables) columns.tables |= file::table_bit(table);
  return all_events(source, columns);
}

/// What skeletons are made of.
constexpr std::array kSkeletonTables = {
    model::DetailTable::kSteps, model::DetailTable::kCollectives, model::DetailTable::kRanges};
/// What the critical path asks for.
constexpr std::array kPathTables = {model::DetailTable::kSteps, model::DetailTable::kStreamWaits,
                                    model::DetailTable::kSyncs, model::DetailTable::kCopies};

/// The rows of a skeleton out of a file, many times as fast as reading all of it; nothing if only
/// the whole file shows them. The whole process completes the skeleton (model::complete_skeleton).
std::optional<model::Trace> rows_of_skeleton(import::TraceSource const& source) {
  constexpr uint64_t kSteps = file::kind_bit(model::EventKind::kStep);
  auto const kinds = source.kinds();
  auto const tracks = source.tracks();
  bool const has_steps = std::any_of(kinds.begin(), kinds.end(),
                                     [](uint64_t of_track) { return (of_track & kSteps) != 0; });

  // Only processes with devices are read whole.
  bool const has_devices = !source.devices().empty() ||
                           std::any_of(tracks.begin(), tracks.end(), [](model::Track const& track) {
                             return track.kind == model::TrackKind::kStream;
                           });
  if (!has_steps || !has_devices) return std::nullopt;

  auto trace = source.read_kinds(kSteps | file::kind_bit(model::EventKind::kCollective));
  // Without marks on a thread, ranges with names of steps are needed, which were not read.
  if (!trace || !analyzer::marks_steps(*trace)) return std::nullopt;
  return trace;
}

}  // namespace

file::Selection all_events(import::TraceSource const& source, file::ColumnSelection columns) {
  // The kernels of collectives are found by all that a recording says of communication.
  auto const kinds = source.kinds();
  bool const has_calls = std::any_of(kinds.begin(), kinds.end(), [](uint64_t of_track) {
    return (of_track & file::kind_bit(model::EventKind::kCollectiveCall)) != 0;
  });
  if (has_calls) columns.tables = UINT32_MAX;

  file::Selection selection;
  selection.columns = columns;
  return selection;
}

file::Selection path_selection(import::RankSource const& rank, model::Interval window) {
  file::Selection part = selection_of(rank.source, kPathTables);
  if (window == analyzer::kAllTime) return part;
  part.window = {window.begin - rank.offset_ns, window.end - rank.offset_ns};
  return part;
}

model::Trace without_events(import::TraceSource const& source) {
  model::TraceBuilder builder;
  builder.info() = source.info();
  return std::move(builder).finish();
}

model::RankTrace head_of_process(import::RankSource const& source) {
  model::Trace trace = without_events(source.source);
  model::complete_skeleton(trace, {.log = source.source.log()});
  return {std::move(trace), source.offset_ns, source.file, source.drift};
}

Expected<model::Trace> read_skeleton(import::TraceSource const& source, bool is_analyzed) {
  auto few = is_analyzed ? rows_of_skeleton(source) : std::nullopt;
  auto trace = few ? Expected<model::Trace>(std::move(*few))
                   : source.copy(selection_of(source, kSkeletonTables));
  source.release_pages();
  if (!trace) return trace;
  std::vector<uint32_t> const rows = analyzer::skeleton_rows(*trace);
  return model::skeleton_of(std::move(*trace), rows);
}

file::Selection observed_selection() {
  file::Selection selection;
  selection.columns.depth = false;
  return selection;
}

Expected<model::RankTrace> read_process(import::RankSource const& source,
                                        file::Selection const& selection) {
  auto trace = source.source.copy(selection);
  source.source.release_pages();
  if (!trace) return base::fail_with(trace);
  return model::RankTrace{std::move(*trace), source.offset_ns, source.file, source.drift};
}

Expected<model::RankTrace> read_path_window(import::RankSource const& source,
                                            model::Interval window) {
  file::Selection part = path_selection(source, window);
  part.columns.depth = true;
  return read_process(source, part);
}

}  // namespace stepscope::run_loading
