// What a run would take with a change, by replaying it (docs/design/whatif.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/results/analysis.h"
#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/changes/work.h"
#include "analyzer/whatif/whatif_stats.h"

namespace stepscope::analyzer {

struct WhatIfQuestion {
  std::vector<std::vector<WhatIfChange>> changes;  ///< each list is one question: all of it at once
  bool wants_fixes = true;                         ///< what findings would gain
  /// A second run of the same program with other work a call, for changes that need one.
  std::optional<ProbeRun> probe;
};

/// Changes as people write them, each a question of its own, or one question of all of them.
/// Errors: those of the first that is no change, and of check_together().
base::Expected<WhatIfQuestion> question_of(std::span<std::string const> changes, bool is_together);

/// `analysis`: of the run. Refusals are in the answers. Errors: those of reading.
base::Expected<WhatIfStats> what_if(StreamedRun const& run, Analysis const& analysis,
                                    WhatIfQuestion const& question);

/// The same of a run in memory.
WhatIfStats what_if(model::Run const& run, Analysis const& analysis,
                    WhatIfQuestion const& question);

/// The gains that analyze() promises come from a replay of so many events in the middle of the run:
/// more would tell the same, and take longer.
inline constexpr uint64_t kMostGainEvents = uint64_t{1} << 20;
/// Fills gain_alone and gain_after_above of the findings. `steps`: of the run.
void find_replayed_gains(model::Run const& run, HostSteps const& steps, Analysis& analysis);
/// The same of a run that memory does not hold at once. `before`: what was read of it already.
/// Errors: those of reading.
base::Expected<void> find_replayed_gains(StreamedRun const& run, HostSteps const& steps,
                                         Analysis& analysis, ReadRange before);

/// The changes that stand for a finding's remedy; empty where no replay shows it, with the reason.
struct Remedy {
  std::vector<WhatIfChange> changes;
  std::string reason;
};
Remedy remedy_of(Finding const& finding, model::Run const& run, Analysis const& analysis);
/// A host that is late has many reasons, and so has a late rank. A change that gives far less than
/// what the finding costs does not undo what was found: it says nothing about the fix. `alone`: the
/// answer to the remedy's changes.
bool misses_the_cause(Finding const& finding, WhatIfAnswer const& alone);

}  // namespace stepscope::analyzer
