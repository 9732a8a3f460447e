// Faults made on purpose (--pathology NAME[=X]): each is one known loss, the ground truth that the
// analyzer is judged by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

struct TrainOptions;

struct FaultInjectionKind {
  char const* name;
  char const* unit;      ///< of X, "" = takes none
  double default_value;  ///< of X; negative = X must be given
  char const* what;      ///< what goes wrong
  char const* finding;   ///< the rule of docs/reference/FINDINGS.md that should name it
  /// Puts it into the options that make it. Null = of the workload split, which looks at it itself;
  /// the others train data-parallel.
  void (*apply)(TrainOptions& options, double value);
  [[nodiscard]] bool pipeline() const { return apply == nullptr; }
};
/// THE list.
std::span<FaultInjectionKind const> fault_injection_kinds();

struct FaultInjection {
  FaultInjectionKind const* kind;
  double value;

  /// "straggler=1"
  [[nodiscard]] std::string text() const;
};

/// Errors: unknown name (lists the known ones), a value that is missing, superfluous, no number ≥
/// 0, or not whole where it counts something.
base::Expected<FaultInjection> parse_fault_injection(std::string_view text);

/// As --help lists those of split (`pipeline`) or of the others.
std::string list_pathologies(bool pipeline);
/// Errors also: one that is not of this kind of workload.
base::Expected<std::vector<FaultInjection>> parse_pathologies(std::span<std::string const> texts,
                                                              bool pipeline);

/// Those that happen once a step, on the host thread of a device.
struct StepFaults {
  int64_t late_device = -1;  ///< whose host comes late_ms late to every step
  int64_t late_ms = 0;
  uint64_t allocate_bytes = 0;  ///< allocated and freed in every step
  uint64_t leak_bytes = 0;      ///< allocated in every step and kept
  uint64_t fragment_bytes =
      0;  ///< churned in every step in sizes that do not fit into each other's holes
  int64_t checkpoint_stall_ms =
      0;  ///< how long the store takes for a checkpoint, beyond writing the file
};

/// Does a device's step faults and keeps what they keep.
class StepFaultInjector {
 public:
  /// `first_member`: of the communicator, on this process's devices.
  StepFaultInjector(Device& device, StepFaults const& faults, int64_t first_member = 0)
      : device_(device), faults_(faults) {
    is_late_ = faults.late_device == first_member + device.index();
  }
  /// Errors: out of memory.
  base::Expected<void> begin_step(int64_t step);
  void end_step() { in_step_ = Buffer(); }

 private:
  base::Expected<void> fragment(int64_t step);

  Device& device_;
  StepFaults faults_;
  bool is_late_;
  Buffer in_step_;
  std::vector<Buffer> kept_, churned_;
};

/// Says what is injected where a recorder sees it: as a mark in the trace, and as pathology.json in
/// the folder of the run that STEPSCOPE_OUTPUT names.
void record_pathologies(std::span<FaultInjection const> pathologies);

}  // namespace stepscope::workloads
