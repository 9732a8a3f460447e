#include "cli/analyze_and_warn.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/analyze.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/team.h"
#include "trace/base/format.h"
#include "trace/base/malloc_tuning.h"

namespace stepscope::cli {

namespace {

/// First and last number of the steps.
std::optional<std::pair<int64_t, int64_t>> step_range(analyzer::Analysis const& analysis) {
  std::optional<std::pair<int64_t, int64_t>> range;
  for (analyzer::StepStats const& step : analysis.steps)
    range = range ? std::pair(std::min(range->first, step.step), std::max(range->second, step.step))
                  : std::pair(step.step, step.step);
  return range;
}

base::Expected<void> check_rank(model::Run const& run, std::optional<int32_t> rank) {
  std::set<int32_t> there;
  for (model::RankTrace const& process : run.ranks) there.insert(process.trace.info().rank);
  if (!rank || there.contains(*rank)) return {};
  return base::fail("--rank {}: is not in the run, it has {}", *rank, ranks_there(there));
}

/// `read_again`: gives the same run with all of its steps.
template <class ReadAgain>
base::Expected<void> check_steps(AnalyzedRun const& analyzed,
                                 analyzer::AnalyzeOptions const& options, ReadAgain&& read_again) {
  if (!options.steps) return {};
  auto const [first, last] = *options.steps;
  if (auto const kept = step_range(analyzed.analysis)) {
    warn_of_missing_steps(*options.steps, *kept);
    return {};
  }

  analyzer::AnalyzeOptions all = options;
  all.steps.reset();
  auto const whole = read_again(all);
  if (!whole) return base::fail_with(whole);

  auto const there = step_range(whole->analysis);
  if (!there)
    return base::fail("--steps {}:{}: the run has no steps, analyze it without --steps", first,
                      last);
  return base::fail("--steps {}:{}: are not in the run, it has steps {} to {}", first, last,
                    there->first, there->second);
}

base::Expected<AnalyzedRun> analyze_watched(std::vector<std::string> const& paths,
                                            analyzer::AnalyzeOptions const& options,
                                            Reading reading, bool is_one_run) {
  run_loading::LoadingProgress progress;
  ProgressWatch const watch([&] { return run_loading::describe(progress); });
  return run_loading::analyze_files(paths, options, reading, is_one_run, team(), &progress);
}

}  // namespace

base::Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths,
                                             analyzer::AnalyzeOptions const& options,
                                             Reading reading, bool is_one_run) {
  base::keep_freed_memory();
  auto analyzed = analyze_watched(paths, options, reading, is_one_run);
  if (!analyzed) return analyzed;

  if (auto const good = check_rank(analyzed->run, options.rank); !good)
    return base::fail_with(good);
  auto const read_again = [&](analyzer::AnalyzeOptions const& all) {
    return run_loading::analyze_files(paths, all, reading, is_one_run, team());
  };
  if (auto const good = check_steps(*analyzed, options, read_again); !good)
    return base::fail_with(good);

  warn_of_run(analyzed->run);
  return analyzed;
}

}  // namespace stepscope::cli
