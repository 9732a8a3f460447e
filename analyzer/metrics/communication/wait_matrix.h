// Waiting for peers as tables (results/wait_matrix.h), from an analyzed run.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/results/wait_matrix.h"

namespace stepscope::analyzer {

/// A screen shows so many cells apart. More steps are averaged in groups of neighbours; of more
/// devices, those that wait least and those that wait most are kept.
inline constexpr size_t kMatrixSteps = 120, kMatrixDevices = 64;

/// Empty where no device waits, or nothing can be compared: fewer than two devices or two steps.
/// O(steps log steps).
StepWaitMatrix step_wait_matrix(Analysis const& analysis);

/// None where no cell of the row is known.
std::optional<StepWaits> step_waits(StepWaitMatrix const& matrix, StepWaitMatrix::Row const& row);

/// The devices that take part in collectives, sorted by ref.
std::vector<DeviceWait> waits_by_device(Analysis const& analysis);

/// The `most` devices of waits_by_device() that lose most, sorted by ref.
std::vector<DeviceWait> longest_waits(Analysis const& analysis, size_t most);

/// None where nothing was measured, or no device waited for a late peer.
std::optional<WaitSummary> summarize_waits(Analysis const& analysis);

}  // namespace stepscope::analyzer
