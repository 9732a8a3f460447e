// What kernels take when a call of them has other work: a + b · work. Both parts follow from a run
// and a second one, the probe, of the same program with another amount of work a call. A kernel of
// half the work does not take half the time, so that one run is not enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/compare/run_sample.h"
#include "analyzer/whatif/changes/apply_change.h"

namespace stepscope::analyzer {

/// A second run of the program.
struct ProbeRun {
  RunMeasurements measurements;
  uint32_t micro_batches = 0;  ///< of a step of its pipelines; 0 = it has none
};
/// `analysis`: of the run.
ProbeRun probe_of(model::Run const& run, Analysis const& analysis);

/// The probe's times over those of the run.
struct WorkRatios {
  struct Kernel {
    double step = 1;  ///< of all calls in a step of a device
    double call = 1;  ///< of a call, on the mean
  };
  std::unordered_map<std::string, Kernel> kernels;  ///< by name: those that both runs have
  double step = 0;                                  ///< mean of the steps; 0 = one of both has none
  Kernel all;                                       ///< of these together
  std::optional<double> message;  ///< transfers of messages; none where one run has none
  uint64_t devices = 0, probe_devices = 0;
  uint32_t micro_batches = 0, probe_micro_batches = 0;
};
WorkRatios compare_work(ProbeRun const& run, ProbeRun const& probe);

/// a + b · work, which is 1 at a work of 1 and `ratio` at `probe_work` ≠ 1. Both a and b are at
/// least 0: more work is not faster, and half of it takes at least half the time.
double time_at_work(double ratio, double probe_work, double work);

/// How the work of a call changes.
struct WorkChange {
  double WorkRatios::Kernel::*ratio = nullptr;  ///< which of the ratios tells it
  double probe_work = 1;                        ///< of the probe, in terms of the run's
  double work = 1;                              ///< that is asked for
};
/// Changes all ops that compute. Kernels that only the run has change as the others together do.
/// Adds cautions, or a refusal where most of the time is theirs.
void change_work(WorkChange const& change, ReplayContext const& context, ReplayWeights& weights,
                 AppliedChange& applied);
/// What messages between two ranks take, by what those of the probe take; without it, all of it.
void change_messages(double probe_work, double work, ReplayContext const& context,
                     ReplayWeights& weights, AppliedChange& applied);
/// Batches are copied to the device in parts of so much.
void change_batch_copies(double share, ReplayContext const& context, ReplayWeights& weights);

}  // namespace stepscope::analyzer
