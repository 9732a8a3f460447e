// The part of a run that analyze() looks at, and its limits.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace stepscope::analyzer {

struct AnalyzeOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< only steps A..B, both included
  std::optional<int32_t> rank;                       ///< only this rank
  /// Shorter gaps are the device's own start latency; more on slow devices
  /// (metrics/host/idle_causes.h).
  int64_t launch_latency_limit_ns = 10'000;
  /// Finding::gain_alone and gain_after_above: they take replays. Never of a part.
  bool wants_gains = true;
  int32_t warmup_steps =
      1;  ///< first steps of a run left out of findings, when more than 4 are there
};

}  // namespace stepscope::analyzer
