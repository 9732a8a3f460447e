#include "run_loading/analyzed_files.h"

#include <optional>
#include <utility>

#include "analyzer/analyze.h"
#include "run_loading/streamed_files.h"
#include "run_loading/team/team_files.h"
#include "trace/import/open/open_run.h"

namespace stepscope::run_loading {
namespace {

using base::Expected;
using import::RunSources;

bool is_streamed(RunSources const& sources, Reading reading) {
  uint64_t events = 0;
  for (import::RankSource const& rank : sources.ranks) {
    uint64_t own = 0;
    for (uint64_t const count : rank.source.event_counts()) own += count;
    // What cannot be packed: a trace without events, or one that finds no room.
    if (rank.source.is_in_memory() && own > 0) return false;
    events += own;
  }
  return reading == Reading::kByProcess ||
         (events > kMostEventsInMemory && sources.ranks.size() > analyzer::processes_at_once());
}

Expected<AnalyzedRun> analyze_in_memory(RunSources sources, analyzer::AnalyzeOptions const& options,
                                        Team* team, LoadingProgress& progress) {
  progress.stage = LoadingProgress::Stage::kReading;
  auto run = load_with_team(std::move(sources), team);
  if (!run) return base::fail_with(run);

  progress.stage = LoadingProgress::Stage::kAnalyzing;
  analyzer::Analysis analysis = analyzer::analyze(*run, options);
  return AnalyzedRun{std::move(*run), std::move(analysis), {}};
}

}  // namespace

analyzer::StreamedRun streamed_run_of(AnalyzedRun const& analyzed) {
  if (!analyzed.read) return analyzer::streamed_in_memory(analyzed.run);
  auto const read_window = [&analyzed](size_t process,
                                       model::Interval window) -> Expected<model::RankTrace> {
    auto const whole = analyzed.read(process);
    if (!whole) return base::fail_with(whole);
    return analyzer::window_in_memory(**whole, window);
  };

  return {analyzed.run,
          [read_window](size_t process) { return read_window(process, analyzer::kAllTime); },
          read_window};
}

Expected<RunSources> open_with_team(std::vector<std::string> const& paths, bool is_one_run,
                                    Team& team) {
  TeamFiles files(team);
  import::FileAccess access;
  access.find = [&](std::string const& path) { return files.find(path); };
  access.open = [&](std::vector<std::string> const& found) { return files.open(found); };
  access.for_each_rank = [&](std::vector<import::RankSource> const& ranks, auto const& work) {
    spread(&team, owners_of(ranks), work);
  };

  auto sources = import::open_sources(paths, {}, is_one_run, access);
  // What a process that is gone had is not a file that cannot be read.
  if (auto const why = team.failure()) return base::fail("{}", *why);
  return sources;
}

Expected<RunSources> open_by_size(std::vector<std::string> const& paths, bool is_one_run,
                                  Team* team) {
  if (team != nullptr) return open_with_team(paths, is_one_run, *team);
  return import::open_sources(paths, {analyzer::processes_at_once(), kMostEventsInMemory},
                              is_one_run);
}

Expected<model::Run> load_with_team(RunSources sources, Team* team) {
  auto run = import::load_run(std::move(sources));
  if (auto const why = team != nullptr ? team->failure() : std::nullopt)
    return base::fail("{}", *why);
  return run;
}

Expected<AnalyzedRun> analyze_files(std::vector<std::string> const& paths,
                                    analyzer::AnalyzeOptions const& options, Reading reading,
                                    bool is_one_run, Team* team, LoadingProgress* watched) {
  LoadingProgress unwatched;
  LoadingProgress& progress = watched == nullptr ? unwatched : *watched;
  bool const by_size = team == nullptr && reading == Reading::kBySize;
  auto opened = by_size || team != nullptr
                    ? open_by_size(paths, is_one_run, team)
                    : import::open_sources(paths, import::MemoryLimit{0, 0}, is_one_run);
  if (!opened) return base::fail_with(opened);
  auto const sources = std::make_shared<RunSources>(std::move(*opened));
  progress.processes = sources->ranks.size();
  if (!is_streamed(*sources, by_size ? Reading::kBySize : Reading::kByProcess))
    return analyze_in_memory(std::move(*sources), options, team, progress);

  progress.is_streamed = true;
  progress.stage = LoadingProgress::Stage::kReading;
  auto files = StreamedFiles::open(
      sources, {.is_all_analyzed = !options.rank, .progress = progress.reading, .team = team});
  if (!files) return base::fail_with(files);
  if (!analyzer::has_marked_steps(files->skeleton()))
    return analyze_in_memory(std::move(*sources), options, team, progress);

  progress.stage = LoadingProgress::Stage::kAnalyzing;
  auto analysis = files->analyze(options);
  if (!analysis) return base::fail_with(analysis);

  auto const read = [sources, source_of = files->source_of()](
                        size_t process) -> Expected<std::shared_ptr<model::RankTrace const>> {
    auto rank = read_process(sources->ranks[source_of[process]]);
    if (!rank) return base::fail_with(rank);
    return std::make_shared<model::RankTrace const>(std::move(*rank));
  };
  return AnalyzedRun{std::move(*files).take_skeleton(), std::move(*analysis), read};
}

}  // namespace stepscope::run_loading
