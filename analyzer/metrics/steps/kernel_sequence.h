// The kernels of a device's main stream in the order in which they began: what the search for steps
// reads (step_detection.h). On one stream this is the order of the program, the same in every step
// and on every rank.
#pragma once

#include <span>
#include <string_view>

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

struct KernelSequence {
  std::vector<uint32_t> rows;   ///< rows of the trace, by start
  std::vector<uint32_t> names;  ///< beside rows: number of the kernel's name
  std::vector<uint64_t>
      name_hashes;              ///< by number: of the name's text, so the same in every process
  std::vector<bool> is_update;  ///< by number: is_update_name()
  [[nodiscard]] size_t size() const { return rows.size(); }
};

/// True for names of kernels by which optimizers update weights: "FusedAdam",
/// "multi_tensor_apply_kernel", "sgd_step".
bool is_update_name(std::string_view name);

/// The kernels of the stream that spends most time in kernels (not copies, memsets, collectives).
/// O(kernels + text of the names).
KernelSequence kernel_sequence(DeviceOps const& device);

/// For each kernel from place `first` to `last` − 1: for how long no stream of the device had done
/// anything when it began, ns; 0 for the first op. O(ops).
std::vector<int64_t> idle_before(DeviceOps const& device, KernelSequence const& sequence,
                                 size_t first, size_t last);

/// When the work of each kernel at `places` (ascending) begins: with the first copy from the host,
/// or memset, after the kernel before it, else with the kernel. Run time. O(ops).
std::vector<int64_t> work_begins(DeviceOps const& device, KernelSequence const& sequence,
                                 std::vector<size_t> const& places);

/// Hashes of the names of any kernels [first, last) of a sequence.
class SequenceHashes {
 public:
  SequenceHashes(std::span<uint32_t const> names, std::vector<uint64_t> const& name_hashes);
  /// A hash of how often each name occurs, in whatever order.
  [[nodiscard]] uint64_t unordered(size_t first, size_t last) const {
    return sums_[last] - sums_[first];
  }
  /// A hash of the names in their order. O(log(last − first)).
  [[nodiscard]] uint64_t ordered(size_t first, size_t last) const;

 private:
  std::vector<uint64_t> sums_, polynomials_;
};

}  // namespace stepscope::analyzer
