// What the rules conclude about a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
char const* to_string(Severity severity);

/// What a rule concludes: numbers and places, no prose (reports/words/wording has the words).
struct Finding {
  std::string rule;  ///< the rule's name, e.g. "input-bound"
  Severity severity = Severity::kInfo;
  std::optional<DeviceRef> where;
  std::optional<int64_t> cost_ns_per_step;
  std::optional<double> gain_ceiling;  ///< T/(T−R) − 1
  /// Communication and copies only: the same, as far as there is work to hide them behind.
  std::optional<double> gain_if_hidden;
  /// What a replay of the run without it gives: recorded step / step − 1, at most the ceiling. None
  /// where no replay shows the remedy, the replay of the unchanged run misses its step, or only a
  /// part of the run was analyzed (DEFINITIONS, "What-if").
  std::optional<double> gain_alone;
  /// The same over the step with the remedies of all findings above it.
  std::optional<double> gain_after_above;
  std::vector<std::pair<std::string, double>> metrics;
  /// Names from the trace: {"host_op", "augment batch"}; hostile text.
  std::vector<std::pair<std::string, std::string>> subjects;
  struct Evidence {
    DeviceRef ref;
    Interval when;
    std::optional<uint32_t> track;  ///< index of the track in its trace
  };
  std::vector<Evidence> evidence;  ///< worst first, at most kMaxEvidence
};
inline constexpr size_t kMaxEvidence = 10;

}  // namespace stepscope::analyzer
