#include "cli/analyzed_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <tbb/parallel_pipeline.h>

#include "analyzer/outline.h"
#include "analyzer/streamed_run.h"
#include "cli/command.h"
#include "trace/base/freed_memory.h"
#include "trace/import/open_run.h"
#include "trace/model/outline.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using import::RunSources;

bool is_streamed(RunSources const& sources, Reading reading) {
  uint64_t events = 0;
  for (import::RankSource const& rank : sources.ranks) {
    if (rank.source.is_in_memory()) return false;
    for (uint64_t const count : rank.source.event_counts()) events += count;
  }
  return reading == Reading::kByProcess || (events > kMostEventsInMemory && sources.ranks.size() > analyzer::processes_at_once());
}

model::RankTrace with_clock(import::RankSource const& rank, model::Trace trace) {
  return {std::move(trace), rank.offset_ns, rank.file, rank.drift};
}

/// All events, with these details and not nested. But the kernels of collectives are found by all that a recording says of
/// communication.
file::Selection selection_of(import::TraceSource const& source, std::span<model::DetailTable const> tables) {
  auto const kinds = source.kinds();
  bool const has_calls = std::any_of(kinds.begin(), kinds.end(), [](uint64_t of_track) {
    return (of_track & file::kind_bit(model::EventKind::kCollectiveCall)) != 0;
  });
  file::Selection selection;
  selection.columns.depth = false;
  if (has_calls) return selection;
  selection.columns.tables = 0;
  for (model::DetailTable const table : tables) selection.columns.tables |= uint32_t{1} << static_cast<unsigned>(table);
  return selection;
}

/// What outlines are made of.
constexpr std::array kOutlineTables = {model::DetailTable::kSteps, model::DetailTable::kCollectives, model::DetailTable::kRanges};
/// What the critical path asks for.
constexpr std::array kPathTables = {model::DetailTable::kSteps, model::DetailTable::kStreamWaits, model::DetailTable::kSyncs};

/// The outlines of the processes that can be read; the others are told in the run's notes and taken out of `sources`.
Expected<model::Run> read_outlines(RunSources& sources) {
  std::vector<std::optional<Expected<model::Trace>>> traces(sources.ranks.size());
  size_t next = 0;
  auto const take = [&](tbb::flow_control& control) -> size_t {
    if (next == traces.size()) control.stop();
    return next == traces.size() ? 0 : next++;
  };
  auto const read_one = [&](size_t i) {
    import::TraceSource const& source = sources.ranks[i].source;
    auto trace = source.copy(selection_of(source, kOutlineTables));
    if (trace) {
      std::vector<uint32_t> const rows = analyzer::outline_rows(*trace);
      trace = model::outline_of(std::move(*trace), rows);
    }
    traces[i].emplace(std::move(trace));
  };
  tbb::parallel_pipeline(analyzer::processes_at_once(), tbb::make_filter<void, size_t>(tbb::filter_mode::serial_in_order, take) &
                                                            tbb::make_filter<size_t, void>(tbb::filter_mode::parallel, read_one));
  model::Run run{sources.name, {}, sources.clock, sources.notes};
  std::vector<import::RankSource> readable;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (*traces[i]) {
      run.ranks.push_back(with_clock(sources.ranks[i], std::move(**traces[i])));
      readable.push_back(std::move(sources.ranks[i]));
    } else {
      run.notes.push_back(traces[i]->error().message);
    }
  }
  if (readable.empty()) return base::fail_with(*traces.front());
  sources.ranks = std::move(readable);
  return run;
}

void warn_of(model::Run const& run) {
  warn(run.notes);
  for (model::RankTrace const& rank : run.ranks) warn(rank.trace.log().notes, rank.file);
}

Expected<AnalyzedRun> analyze_in_memory(RunSources sources, analyzer::AnalyzeOptions const& options) {
  auto run = import::load_run(std::move(sources));
  if (!run) return base::fail_with(run);
  warn_of(*run);
  analyzer::Analysis analysis = analyzer::analyze(*run, options);
  return AnalyzedRun{std::move(*run), std::move(analysis), {}};
}

}  // namespace

Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths, analyzer::AnalyzeOptions const& options,
                                       Reading reading) {
  base::keep_freed_memory();
  bool const by_size = reading == Reading::kBySize;
  auto opened =
      import::open_sources(paths, {by_size ? analyzer::processes_at_once() : 0, by_size ? kMostEventsInMemory : uint64_t{0}});
  if (!opened) return base::fail_with(opened);
  auto const sources = std::make_shared<RunSources>(std::move(*opened));
  if (!is_streamed(*sources, reading)) return analyze_in_memory(std::move(*sources), options);
  auto outline = read_outlines(*sources);
  if (!outline) return base::fail_with(outline);
  if (!analyzer::has_marked_steps(*outline)) return analyze_in_memory(std::move(*sources), options);
  warn_of(*outline);
  auto const read = [sources](size_t process, file::Selection const& selection) -> Expected<model::RankTrace> {
    auto trace = sources->ranks[process].source.copy(selection);
    if (!trace) return base::fail_with(trace);
    return with_clock(sources->ranks[process], std::move(*trace));
  };
  analyzer::StreamedRun const streamed{*outline, [&](size_t process) { return read(process, {}); },
                                       [&](size_t process, model::Interval window) {
                                         int64_t const offset = sources->ranks[process].offset_ns;
                                         file::Selection part = selection_of(sources->ranks[process].source, kPathTables);
                                         part.window = {window.begin - offset, window.end - offset};
                                         return read(process, part);
                                       }};
  auto analysis = analyzer::analyze(streamed, options);
  if (!analysis) return base::fail_with(analysis);
  auto const read_whole = [read](size_t process) -> Expected<std::shared_ptr<model::RankTrace const>> {
    auto rank = read(process, {});
    if (!rank) return base::fail_with(rank);
    return std::make_shared<model::RankTrace const>(std::move(*rank));
  };
  return AnalyzedRun{std::move(*outline), std::move(*analysis), read_whole};
}

}  // namespace stepscope::cli
