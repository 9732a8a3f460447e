#include "run_loading/streamed_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <tbb/parallel_pipeline.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/steps/skeleton_rows.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;

/// All events, with these details and not nested. But the kernels of collectives are found by all
/// that a recording says of communication.
file::Selection selection_of(import::TraceSource const& source,
                             std::span<model::DetailTable const> tables) {
  auto const kinds = source.kinds();
  bool const has_calls = std::any_of(kinds.begin(), kinds.end(), [](uint64_t of_track) {
    return (of_track & file::kind_bit(model::EventKind::kCollectiveCall)) != 0;
  });

  file::Selection selection;
  selection.columns.depth = false;
  if (has_calls) return selection;
  selection.columns.tables = 0;
  for (model::DetailTable const table : tables)
    selection.columns.tables |= uint32_t{1} << static_cast<unsigned>(table);
  return selection;
}

/// What skeletons are made of.
constexpr std::array kSkeletonTables = {
    model::DetailTable::kSteps, model::DetailTable::kCollectives, model::DetailTable::kRanges};
/// What the critical path asks for.
constexpr std::array kPathTables = {model::DetailTable::kSteps, model::DetailTable::kStreamWaits,
                                    model::DetailTable::kSyncs, model::DetailTable::kCopies};

file::Selection path_selection(import::RankSource const& rank, model::Interval window) {
  file::Selection part = selection_of(rank.source, kPathTables);
  if (window == analyzer::kAllTime) return part;
  part.window = {window.begin - rank.offset_ns, window.end - rank.offset_ns};
  return part;
}

/// A process with nothing but its identity: without a device, which would otherwise look idle all
/// the time.
model::Trace without_events(import::TraceSource const& source) {
  model::TraceBuilder builder;
  builder.info() = source.info();
  return std::move(builder).finish();
}

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

/// Calls work(i) for all below `count`, as many at once as memory holds processes.
template <class Work>
void for_each_process(size_t count, Work const& work) {
  size_t next = 0;
  auto const take = [&](tbb::flow_control& control) -> size_t {
    if (next == count) control.stop();
    return next == count ? 0 : next++;
  };
  tbb::parallel_pipeline(analyzer::processes_at_once(),
                         tbb::make_filter<void, size_t>(tbb::filter_mode::serial_in_order, take) &
                             tbb::make_filter<size_t, void>(tbb::filter_mode::parallel, work));
}

}  // namespace

Expected<model::RankTrace> read_process(import::RankSource const& source,
                                        file::Selection const& selection) {
  auto trace = source.source.copy(selection);
  if (!trace) return base::fail_with(trace);
  return model::RankTrace{std::move(*trace), source.offset_ns, source.file, source.drift};
}

Expected<model::RankTrace> read_path_window(import::RankSource const& source,
                                            model::Interval window) {
  file::Selection part = path_selection(source, window);
  part.columns.depth = true;
  return read_process(source, part);
}

StreamedFiles::StreamedFiles(Sources sources, StreamedOptions options)
    : sources_(std::move(sources)), options_(std::move(options)) {}

Expected<model::Trace> StreamedFiles::copy(size_t source, file::Selection const& selection) const {
  if (options_.progress && options_.progress->given_up) return base::fail("given up");
  auto trace = sources_->ranks[source].source.copy(selection);
  sources_->ranks[source].source.release_pages();
  if (options_.progress) ++options_.progress->processes_read;
  return trace;
}

Expected<model::Trace> StreamedFiles::read_skeleton(size_t source) const {
  import::TraceSource const& of = sources_->ranks[source].source;
  auto few = options_.is_all_analyzed ? rows_of_skeleton(of) : std::nullopt;
  of.release_pages();
  if (few && options_.progress) ++options_.progress->processes_read;
  auto trace = few ? Expected<model::Trace>(std::move(*few))
                   : copy(source, selection_of(of, kSkeletonTables));
  if (!trace) return trace;
  std::vector<uint32_t> const rows = analyzer::skeleton_rows(*trace);
  return model::skeleton_of(std::move(*trace), rows);
}

Expected<StreamedFiles> StreamedFiles::open(Sources sources, StreamedOptions options) {
  StreamedFiles files(std::move(sources), std::move(options));
  import::RunSources const& of = *files.sources_;

  std::vector<std::optional<Expected<model::Trace>>> traces(of.ranks.size());
  for_each_process(traces.size(), [&](size_t i) { traces[i].emplace(files.read_skeleton(i)); });
  if (files.options_.progress && files.options_.progress->given_up) return base::fail("given up");
  files.skeleton_ = {of.name, {}, of.clock, of.notes};

  bool any = false;
  for (size_t i = 0; i < traces.size(); ++i) {
    Expected<model::Trace>& trace = *traces[i];
    bool const is_readable = trace.has_value();
    any = any || is_readable;
    if (!is_readable) files.unreadable_.push_back(trace.error().message);
    if (!is_readable && files.options_.unreadable == Unreadable::kWithoutEvents)
      trace = without_events(of.ranks[i].source);
    if (!trace) continue;

    files.skeleton_.ranks.push_back(
        {std::move(*trace), of.ranks[i].offset_ns, of.ranks[i].file, of.ranks[i].drift});
    files.source_of_.push_back(i);
    files.has_no_events_.push_back(!is_readable);
  }

  if (!any) return base::fail("{}", files.unreadable_.front());
  files.skeleton_.notes.insert(files.skeleton_.notes.end(), files.unreadable_.begin(),
                               files.unreadable_.end());
  return files;
}

Expected<model::RankTrace> StreamedFiles::read(size_t process,
                                               file::Selection const& selection) const {
  import::RankSource const& rank = sources_->ranks[source_of_[process]];
  auto trace = has_no_events_[process] ? Expected<model::Trace>(without_events(rank.source))
                                       : copy(source_of_[process], selection);
  if (!trace) return base::fail_with(trace);
  return model::RankTrace{std::move(*trace), rank.offset_ns, rank.file, rank.drift};
}

Expected<analyzer::Analysis> StreamedFiles::analyze(analyzer::AnalyzeOptions const& analysis) {
  auto const read_whole = [this](size_t process) {
    auto rank = read(process, {.columns = {.depth = false}});
    if (rank) model::complete_skeleton(skeleton_.ranks[process].trace, rank->trace);
    return rank;
  };
  auto const read_window = [this](size_t process, model::Interval window) {
    return read(process, path_selection(sources_->ranks[source_of_[process]], window));
  };
  return analyzer::analyze(analyzer::StreamedRun{skeleton_, read_whole, read_window}, analysis);
}

}  // namespace stepscope::run_loading
