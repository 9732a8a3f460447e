// Runs that are judged together: what changed between two sides, and the gate of a CI.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "python/native/open_run.h"
#include "trace/base/expected.h"

namespace stepscope::python {

using Runs = std::vector<std::shared_ptr<OpenRun>>;

/// As `stepscope compare --json`, runs before and after a change. Errors: they cannot be compared.
base::Expected<std::string> comparison_json(Runs const& base, Runs const& candidate,
                                            double least_percent, bool is_paired);

struct GateQuestion {
  Runs candidate;
  /// Runs, and files or folders of baselines, in their order.
  std::vector<std::variant<std::shared_ptr<OpenRun>, std::string>> base;
  std::string budget;  ///< a file; empty: none
  std::string name;    ///< of the workload; empty: that of the first candidate
  double least_percent = 2;
  bool is_paired = false;
};

/// As `stepscope check --json`. Errors: nothing to compare with, a file that cannot be read, or
/// runs that cannot be compared.
base::Expected<std::string> gate_json(GateQuestion const& question);
/// Whether `stepscope check` reads a run at that path, and not a baseline.
bool is_run_for_gate(std::string const& path);

}  // namespace stepscope::python
