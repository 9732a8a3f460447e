// Makes realistic runs of any size whose truth is known. It writes training steps of N ranks as
// trace files, and truth.json next to them (docs/reference/SYNTH.md). Steps have launches, kernels,
// collectives, copies, memory and faults of known cost. For scale and for tests: the same options
// give the same bytes on every machine. A second simulation without the fault tells what one fault
// costs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trace/base/expected.h"
#include "trace/synth/jobs/patterns.h"
#include "trace/synth/process/fault_kinds.h"
#include "trace/synth/process/job.h"

namespace stepscope::synth {

/// All their files are open at once.
inline constexpr int32_t kMaxRanks = 4096;
/// What a reader can hold of one process (rows have 32-bit numbers), with room for the last step.
inline constexpr uint64_t kMaxEventsPerRank = 4'000'000'000;

/// As many as have that many events, and less.
inline constexpr int64_t kMaxSteps = 1'000'000;

struct SynthOptions {
  Pattern const* pattern = nullptr;
  int32_t ranks = 1;  ///< 1 … kMaxRanks
  uint64_t events_per_rank =
      0;              ///< 1 … kMaxEventsPerRank; steps are whole: the last one ends after so many
  int64_t steps = 0;  ///< 1 … kMaxSteps: exactly so many, whatever their events
  uint64_t seed = 1;
  std::optional<Fault> fault;  ///< none: the cycle of faults
  PipelineShape shape = {};    ///< of the pattern `pipeline`
  std::function<void(double)>
      progress;  ///< called now and then with the share that is done; may be empty
};

struct SynthSummary {
  int64_t steps = 0;
  uint64_t events = 0;  ///< of all ranks
};

/// Errors: jobs of the pattern, or of so few ranks, cannot have the fault.
base::Expected<void> check_fault(SynthOptions const& options);

/// Errors: jobs of the pattern have no micro-batches and stages, or stages are not as many as
/// ranks.
base::Expected<void> check_shape(SynthOptions const& options);

/// Writes rank-0.stepscope, … and truth.json into `folder`, which must exist and hold none of them.
/// Errors: it cannot be written, the disk is full, those of check_fault() and
/// check_shape(); nothing is left of the
/// run then.
base::Expected<SynthSummary> make_run(SynthOptions const& options, std::string const& folder);

}  // namespace stepscope::synth
