// Budgets: limits that a run's numbers have to keep whatever they were before. Which numbers there
// are, and whether they keep them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "analyzer/gate/noise.h"
#include "analyzer/gate/verdict.h"

namespace stepscope::analyzer {

/// Where a budgeted number comes from (docs/guide/GATE.md).
enum class FactSource : uint8_t {
  kStep,           ///< a step of the job
  kStepP95,        ///< 95 % of the steps take at most so long, over all but the warm-up
  kPart,           ///< a part of it
  kExposedComm,    ///< exposed communication, waiting included
  kIdle,           ///< all idle time
  kAllocated,      ///< most that the fullest device had allocated in the whole recording
  kReserved,       ///< likewise
  kKernelCalls,    ///< per step and device
  kTraceIntegrity  ///< of the recording, 0 to 100
};
enum class FactUnit : uint8_t { kMilliseconds, kShare, kGigabytes, kGibibytes, kCount };

struct BudgetFact {
  std::string name;  ///< the key in a budget file: "step_time_ms", "exposed_comm_share", …
  FactSource source = FactSource::kStep;
  StepPart part = StepPart::kCompute;  ///< of kPart
  FactUnit unit = FactUnit::kMilliseconds;
};
/// All there are, in the order of docs/guide/GATE.md.
std::vector<BudgetFact> const& budget_facts();
/// Null: no such fact.
BudgetFact const* find_budget_fact(std::string_view name);
/// The known name that is most like this one; empty: none is.
std::string nearest_budget_fact(std::string_view name);

enum class Bound : uint8_t { kAtMost, kBelow, kAtLeast, kAbove };
/// "<=", "<", ">=", ">".
char const* to_string(Bound bound);

struct Budget {
  std::string fact;
  Bound bound = Bound::kAtMost;
  double limit = 0;  ///< in the unit of the fact; shares from 0 to 1
  std::string file;  ///< where it stands, for people; lines and columns from 1, 0: in no file
  uint32_t line = 0, column = 0;
};

struct BudgetCheck {
  Budget budget;
  GateVerdict verdict = GateVerdict::kUnclear;
  /// In the unit of the fact, over all runs: the mean of what varies, else the value farthest from
  /// the good side. None: a run does not have it.
  std::optional<double> value;
  /// Interval of a mean that varies.
  std::optional<MeanInterval> interval;
  std::optional<MoreValues> more;  ///< of what is unclear
};

/// A budget is kept, or broken, when all of the interval is on one side of its limit. Peaks and
/// scores have no interval: the worst run counts.
BudgetCheck check_budget(Budget const& budget, std::vector<RunMeasurements> const& runs);

}  // namespace stepscope::analyzer
