// Which of the two rules about copies speaks of a device.
#pragma once

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Whether pageable and blocking copies are most of the device's exposed copy time and at least
/// kWarningShare of its time. Rule pageable-copies then says why copies are exposed, and
/// serialized-copies is silent.
bool is_about_pageable_copies(MeasuredDevice const& device, SlowTime const& slow);

/// The recording tells that all host memory which the device's copies read or write is page-locked.
bool are_all_pinned(std::vector<CopyStats> const& copies, DeviceRef ref);

}  // namespace stepscope::analyzer
