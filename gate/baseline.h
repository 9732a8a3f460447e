// A baseline: what runs were like when they were good, small enough for a repository. The samples
// of a few runs, not their traces, as JSON (docs/guide/GATE.md): deterministic, a key a line, so
// that a version control shows what changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "trace/base/expected.h"

namespace stepscope::gate {

struct Baseline {
  std::string name;  ///< of the workload
  std::vector<analyzer::RunMeasurements> runs;
};

inline constexpr int kBaselineSchema = 1;
/// Four a side tell runs apart well; more than these add nothing but bytes.
inline constexpr size_t kMostBaselineRuns = 16;
inline constexpr size_t kMostBaselineBytes = size_t{32} << 20;

/// Valid UTF-8, ends with a newline. `runs`: at least one, at most kMostBaselineRuns, each as
/// analyzer::kept_sample() leaves it.
std::string baseline_text(Baseline const& baseline);

/// Reads untrusted text; every number is checked. Errors: `path`, and what is wrong with which key.
base::Expected<Baseline> parse_baseline(std::string_view text, std::string const& path);

/// Whether a text that begins so is a baseline, of whatever schema.
bool is_baseline(std::string_view begin);

}  // namespace stepscope::gate
