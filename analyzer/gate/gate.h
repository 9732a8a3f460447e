// The gate of a CI: whether runs are as good as a baseline and keep their budgets. Failed is what
// is worse beyond doubt; what the runs are too few or too short to tell is unclear, never passed.
// Numbers, no prose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/gate/budget.h"
#include "analyzer/gate/history.h"
#include "analyzer/gate/kept.h"
#include "analyzer/gate/noise.h"
#include "analyzer/gate/verdict.h"

namespace stepscope::analyzer {

/// What a gate asks. Kernels, parts and collectives are no questions of their own: what they cost
/// is in the step, and each more question is a chance more of a false alarm. They are its causes.
enum class GateQuestion : uint8_t { kStepTime, kMemory, kBudget };
/// "step_time", "memory", "budget".
char const* to_string(GateQuestion question);

struct GateAnswer {
  GateQuestion question = GateQuestion::kStepTime;
  GateVerdict verdict = GateVerdict::kUnclear;
  size_t index = 0;                ///< in Comparison::metrics, or in GateResult::budgets
  std::optional<Noise> noise;      ///< of metrics
  std::optional<MoreValues> more;  ///< of what is unclear
};

struct GateResult {
  std::string name;  ///< of the workload; hostile text
  GateVerdict verdict = GateVerdict::kPassed;
  std::optional<Comparison>
      comparison;  ///< none without a baseline. A refused one: nothing else is there
  /// The baseline ran on other devices, or another number of them: slower or faster says nothing of
  /// the program, and is unclear.
  bool is_other_machine = false;
  bool has_host_devices = false;  ///< of the new runs
  std::vector<BudgetCheck> budgets;
  std::vector<GateAnswer> answers;  ///< the step, memory, budgets
  std::optional<HistoryStats> history;
  std::optional<KeptBaseline> kept_baseline;  ///< where one was to be written
  std::optional<KeptHistory> kept_history;    ///< where the runs were appended to one
};

/// Whether the difference makes the baseline one of another machine. The processor counts for host
/// devices, too: it is their device.
bool is_of_machine(Difference const& difference, bool host_devices);

/// `fresh` needs a run, and each of its runs a step. `base` empty: no baseline. Samples as
/// kept_sample() leaves them.
GateResult check_runs(std::vector<RunMeasurements> const& base,
                      std::vector<RunMeasurements> const& candidate,
                      std::vector<Budget> const& budgets, CompareOptions const& options = {});

}  // namespace stepscope::analyzer
