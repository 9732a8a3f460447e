// One call of the CUDA backend's kernels and what it must leave. A case has the arrays at the
// start, the call, the same work by the host backend, and its result in double precision.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/backend/cuda/kernels.h"

namespace stepscope::cuda_emulation {

using Array = std::vector<float>;
using Arrays = std::vector<Array>;
using Values = std::vector<double>;
using Pointers = std::vector<float*>;  ///< to the arrays, in their order

/// Values that no result is, so that what is not written shows.
constexpr float kUnwritten = -77.0F;

struct KernelCase {
  std::string name;
  size_t elements = 0;  ///< about as many as all arrays together: how long it takes
  std::function<Arrays()> arrays;
  std::function<void(Pointers const&)> kernels;
  /// Empty: the host backend has no such operation.
  std::function<void(workloads::Device&, Pointers const&)> host = {};
  /// Changes the arrays as the kernels must. Arrays that it leaves as they are must keep their
  /// bits.
  std::function<void(std::vector<Values>&)> exact;
  /// Largest allowed difference, relative to the array's largest value.
  double tolerance = 2e-6;
};

struct KernelGroup {
  std::string_view name;
  std::vector<KernelCase> (*cases)();
};
/// THE list of groups, by the file in cases/ that has them.
std::vector<KernelGroup> const& kernel_groups();

// How cases are written.

Array random_array(size_t count, uint64_t seed, float scale = 1.0F);
inline Array unwritten(size_t count) { return Array(count, kUnwritten); }
/// Integers lie in arrays as their bits.
Array integer_array(std::vector<int32_t> const& integers);
inline int32_t const* integers(float const* array) {
  return static_cast<int32_t const*>(static_cast<void const*>(array));
}

/// Runs the case in every order of threads, between guard pages. It adds a GoogleTest failure for
/// each fault of the emulator and for results that differ from the host backend, from double
/// precision or between two orders. A changed byte outside of the arrays, or in one that is only
/// read, is a failure too.
void check_case(KernelCase const& kernel_case);
/// Runs the kernels once and looks at no result.
void run_kernels(KernelCase const& kernel_case);

}  // namespace stepscope::cuda_emulation
