// What a run would take if something in it were different: the replay of a run with a change
// (DEFINITIONS, "What-if"). analyzer/whatif fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/critical_path_stats.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {

struct ReplayBaseline {
  double step_ns = 0;           ///< mean of the measured steps
  double replayed_step_ns = 0;  ///< the same, replayed with typical delays
  double error = 0;             ///< replayed / recorded − 1
  double spread = 0;            ///< half of the 95 % interval of the mean step, as its share;
                                ///< NaN: one step tells nothing of others
  bool is_refused = false;
  std::string reason;                     ///< of the refusal
  uint64_t steps = 0;                     ///< measured: of all devices
  bool is_part = false;                   ///< of a large run the middle steps were replayed
  std::vector<ReplayResidual> residuals;  ///< by |ns| descending, at most 5
  std::vector<std::string> cautions;      ///< what the recording lacks; each answer has them, too
};

/// What a changed run would take.
struct WhatIfAnswer {
  std::string change;  ///< as it was written; several with " + "
  bool is_refused = false;
  std::string reason;            ///< of the refusal
  bool selects_nothing = false;  ///< refused, because the run has nothing of what is changed
  // Without a refusal:
  double step_ns = 0, low_ns = 0, high_ns = 0;  ///< mean step, its 95 % interval (NaN: unknown)
  double gain = 0;       ///< recorded step / step_ns − 1, as Finding::gain_ceiling
  uint64_t changed = 0;  ///< ops, calls and stretches of the host that the change touched
  PathSplit path{};      ///< of the new critical path of a step, ns by class
  std::string next;      ///< name of what has most of it then; empty = none; hostile text
  PathClass next_class = PathClass::kUnexplained;
  std::vector<std::string> cautions;
};

/// The fix of one finding.
struct WhatIfFix {
  size_t finding = 0;  ///< place among Analysis::findings
  WhatIfAnswer alone;
  std::optional<WhatIfAnswer> in_sequence;  ///< with the fixes before it; none where `alone` is
                                            ///< refused. gain is over the fixes before it
  std::vector<std::string> changes;         ///< that stand for the fix, each as it is written
};

struct WhatIfStats {
  ReplayBaseline baseline;
  PathSplit path{};                   ///< of a recorded step
  std::vector<WhatIfFix> fixes;       ///< by gain in sequence, the largest first; refused ones last
  std::vector<WhatIfAnswer> answers;  ///< one for each change that was asked for
};

}  // namespace stepscope::analyzer
