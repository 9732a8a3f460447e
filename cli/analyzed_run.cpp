#include "cli/analyzed_run.h"

#include "cli/command.h"
#include "trace/base/freed_memory.h"

namespace stepscope::cli {

base::Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths, analyzer::AnalyzeOptions const& options,
                                             Reading reading) {
  base::keep_freed_memory();
  auto analyzed = runs::analyze_files(paths, options, reading);
  if (!analyzed) return analyzed;
  Warnings warnings;
  warnings.say(analyzed->run.notes);
  for (model::RankTrace const& rank : analyzed->run.ranks) warnings.say(rank.trace.log().notes, rank.file);
  return analyzed;
}

}  // namespace stepscope::cli
