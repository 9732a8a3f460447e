// Why the mean step time changed: an exact breakdown of the difference, and the share of kernels,
// hosts and late devices in it.
//
// A kernel that both sides have, with c calls of d ns in a step, takes c · d. Half way between the
// sides the difference is (c₀ + c₁) / 2 · (d₁ − d₀), the part of slower calls, plus (d₀ + d₁) / 2 ·
// (c₁ − c₀), the part of more calls. The two sum to the whole. Kernels that run side by side sum to
// more than the time in which the device computes: the change of that excess is a part of its own.
// A side's numbers are means over its runs of the means over their steps, as its step time is.
#pragma once

#include "analyzer/compare/comparison.h"

namespace stepscope::analyzer {

/// Fills parts_ns, kernels, host_ops and late. mean_ns of both sides must be set. Each side has a
/// run, each run a step.
void explain_change(std::vector<RunMeasurements> const& base,
                    std::vector<RunMeasurements> const& candidate, Comparison& comparison);

/// Share of both sides' kernel time in kernels that both have, 0 to 1; 1 without kernels.
double common_kernel_share(std::vector<RunMeasurements> const& base,
                           std::vector<RunMeasurements> const& candidate);

/// `values` rounded to whole numbers that sum to `total`. Where their sum is that of `values`, each
/// moves to a neighbour, and those with the largest remainders are rounded up.
std::array<int64_t, kChangePartCount> round_to_sum(
    std::array<double, kChangePartCount> const& values, int64_t total);

}  // namespace stepscope::analyzer
