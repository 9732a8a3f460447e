// The values of a run's sample that the gate keeps and compares: as much as a repository can hold.
// They are the same whether the sample comes from a run or out of a baseline. The bounds hold for
// hostile runs too: names of megabytes, millions of steps.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// The last ones: far from the start, and in succession, so that it shows how alike neighbours are.
/// No more are compared anyway.
inline constexpr size_t kMostKeptSteps = kMostComparedValues;
/// The kernels with most time; the others are summed, as an analysis does (64 of each step).
inline constexpr size_t kMostKeptKernels = 64;
inline constexpr size_t kMostKeptCollectives = 32;
/// Names of kernels without a row of their own. With more of them it is not known which kernels are
/// new.
inline constexpr size_t kMostKeptKernelNames = 1024;
/// Host ops and late devices: a comparison tells the 20 that changed most.
inline constexpr size_t kMostKeptBlame = 64;
/// Devices, hosts, facts, missing ranks.
inline constexpr size_t kMostKeptConditions = 64;
inline constexpr size_t kMostKeptTextBytes = 256;

/// Times to 0.1 ns, calls to 0.001, which is finer than any clock and shorter to write. The same
/// again for what is kept already.
RunMeasurements kept_sample(RunMeasurements sample);

/// Valid UTF-8 of at most kMostKeptTextBytes. What had to be changed for it ends in a hash, so that
/// different texts stay different.
std::string kept_text(std::string const& text);

}  // namespace stepscope::analyzer
