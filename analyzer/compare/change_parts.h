// Why the mean step time changed: its difference split without rest, and what kernels, hosts and
// late devices have in it.
//
// A kernel that both sides have, with c calls of d ns in a step, takes c · d: half way between the
// sides the difference is (c₀ + c₁) / 2 · (d₁ − d₀), what its calls take longer, and (d₀ + d₁) / 2
// · (c₁ − c₀), what more calls take; nothing is left. What kernels take together is more than the
// time in which the device computes by what they run side by side: its change is a part of its own.
// A side's numbers are means over its runs of the means over their steps, as its step time is.
#pragma once

#include "analyzer/compare/comparison.h"

namespace stepscope::analyzer {

/// Fills parts_ns, kernels, host_ops and late. mean_ns of both sides must be set. Each side has a
/// run, each run a step.
void explain_change(std::vector<RunMeasurements> const& base,
                    std::vector<RunMeasurements> const& candidate, Comparison& comparison);

/// What of the kernel time of both sides is of kernels that both have, 0 to 1; 1 without kernels.
double common_kernel_share(std::vector<RunMeasurements> const& base,
                           std::vector<RunMeasurements> const& candidate);

/// `values` rounded to whole numbers that sum to `total`, each up or down to a neighbour where
/// their sum is that of `values`: those with most to lose are kept (largest remainder).
std::array<int64_t, kChangePartCount> round_to_sum(
    std::array<double, kChangePartCount> const& values, int64_t total);

}  // namespace stepscope::analyzer
