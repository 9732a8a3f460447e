// The steps of a job on other numbers of devices, predicted by replaying one of its runs
// (DEFINITIONS, "Scaling"). analyzer/whatif/scaling_curve.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/scaling/collective_law.h"
#include "analyzer/scaling/cost_model.h"

namespace stepscope::analyzer {

/// Why there is no curve.
enum class CurveRefusal : uint8_t {
  kNoCollectives,  ///< no run has a collective of several devices
  kPipeline,       ///< devices are stages: more of them are other stages
  kGroups,         ///< the largest collective joins not all devices
  kNoReplay,       ///< no run can be replayed: no measured steps, or records contradict each other
  kFidelity,       ///< replays of the unchanged runs miss their steps by too much
  kKernels         ///< strong scaling, and runs have too few kernels in common
};
/// "no_collectives", "pipeline", "groups", "no_replay", "fidelity", "kernels".
char const* to_string(CurveRefusal refusal);

struct ReplayedPoint {
  uint64_t devices = 0;
  Estimate step_ns;             ///< mean step
  std::optional<double> error;  ///< predicted / measured step − 1; none where no run was measured,
                                ///< and for the run that was replayed
};

struct ReplayedCurve {
  std::optional<CurveRefusal> refusal;
  // Without a refusal:
  uint64_t base_devices = 0;  ///< of the run that was replayed
  std::string base_run;       ///< hostile text
  double base_error = 0;  ///< replayed / recorded step − 1 of it, unchanged; also of kFidelity
  CollectiveLaw law = CollectiveLaw::kNccl;
  bool is_law_measured = false;           ///< transfers at other numbers of devices chose it
  std::optional<uint64_t> probe_devices;  ///< of the second run, from which kernels of less work
                                          ///< are known; strong scaling only
  std::vector<ReplayedPoint> points;      ///< by devices

  /// The largest |error|; none without a measured point other than
  /// the base.
  [[nodiscard]] std::optional<double> worst_error() const;
};

}  // namespace stepscope::analyzer
