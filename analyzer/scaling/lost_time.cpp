#include "analyzer/scaling/lost_time.h"

#include <cmath>
#include <numeric>

#include "analyzer/compare/change_parts.h"

namespace stepscope::analyzer {
namespace {

using Runs = std::vector<RunMeasurements>;

void scale_values(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

/// The runs as if all their times scaled with the work.
Runs ideal_runs(Runs const& runs, double ideal) {
  Runs scaled = runs;
  for (RunMeasurements& run : scaled) {
    scale_values(run.step_ns, ideal);
    for (auto& part : run.parts_ns) scale_values(part, ideal);
    for (RunMeasurements::Kernel& kernel : run.kernels) scale_values(kernel.ns, ideal);
    for (RunMeasurements::HostOp& op : run.host_ops) op.ns *= ideal;
    for (RunMeasurements::Late& late : run.late) late.exposed_ns *= ideal;
  }
  return scaled;
}

double mean_step_of(Runs const& runs) {
  double sum = 0;
  for (RunMeasurements const& run : runs)
    sum += std::accumulate(run.step_ns.begin(), run.step_ns.end(), 0.0) /
           static_cast<double>(run.step_ns.size());
  return sum / static_cast<double>(runs.size());
}

/// Exposed waiting for devices that compute longer: by their share of what all late devices are
/// charged with.
double imbalance_ns(Runs const& runs) {
  double sum = 0;
  auto const waiting = static_cast<size_t>(StepPart::kWaiting);
  for (RunMeasurements const& run : runs) {
    double charged = 0, by_compute = 0;
    for (RunMeasurements::Late const& late : run.late) {
      charged += late.exposed_ns;
      if (late.cause == to_string(StepPart::kCompute)) by_compute += late.exposed_ns;
    }

    auto const& of_steps = run.parts_ns[waiting];
    double const mean = std::accumulate(of_steps.begin(), of_steps.end(), 0.0) /
                        static_cast<double>(of_steps.size());
    if (charged > 0) sum += mean * by_compute / charged;
  }

  return sum / static_cast<double>(runs.size());
}

LostPart lost_part_of(ChangePart part) {
  switch (part) {
    case ChangePart::kKernelSpeed:
      return LostPart::kKernels;
    case ChangePart::kKernelCalls:
      return LostPart::kCalls;
    case ChangePart::kNewKernels:
    case ChangePart::kVanishedKernels:
      return LostPart::kOtherKernels;
    case ChangePart::kKernelOverlap:
      return LostPart::kOverlap;
    case ChangePart::kCommunication:
      return LostPart::kCommunication;
    case ChangePart::kWaiting:
      return LostPart::kWaiting;
    case ChangePart::kCopies:
      return LostPart::kCopies;
    case ChangePart::kHostWork:
    case ChangePart::kHostInput:
      return LostPart::kRest;
    default:
      return lost_part(static_cast<IdleCause>(static_cast<size_t>(part) -
                                              static_cast<size_t>(ChangePart::kFirstIdle)));
  }
}

}  // namespace

char const* to_string(LostPart part) {
  constexpr std::array kNames = {"kernels",      "kernel_calls", "other_kernels", "kernel_overlap",
                                 "exposed_comm", "waiting",      "imbalance",     "exposed_copy",
                                 "host",         "rest"};
  return kNames[static_cast<size_t>(part)];
}

LostPart lost_part(IdleCause cause) {
  switch (cause) {
    case IdleCause::kAllocation:
    case IdleCause::kSync:
    case IdleCause::kInput:
    case IdleCause::kLaunchBound:
    case IdleCause::kLaunchLatency:
      return LostPart::kHost;
    case IdleCause::kPeer:
      return LostPart::kWaiting;
    case IdleCause::kProfiler:
    case IdleCause::kDependency:
    case IdleCause::kGraph:
    case IdleCause::kUnexplained:
      break;
  }
  return LostPart::kRest;
}

LostTime lost_time(Runs const& from, Runs const& to, double ideal) {
  Runs const base = ideal_runs(from, ideal);
  LostTime lost;
  Comparison& explained = lost.explained;

  explained.base.mean_ns = lost.ideal_ns = std::llround(mean_step_of(base));
  explained.candidate.mean_ns = lost.step_ns = std::llround(mean_step_of(to));

  explain_change(base, to, explained);
  for (size_t p = 0; p < kChangePartCount; ++p)
    lost.parts_ns[static_cast<size_t>(lost_part_of(static_cast<ChangePart>(p)))] +=
        explained.parts_ns[p];

  // Imbalance in whole ns is taken out of waiting: the sum stays.
  int64_t const imbalance = std::llround(imbalance_ns(to) - imbalance_ns(base));
  lost.parts_ns[static_cast<size_t>(LostPart::kImbalance)] = imbalance;
  lost.parts_ns[static_cast<size_t>(LostPart::kWaiting)] -= imbalance;
  return lost;
}

}  // namespace stepscope::analyzer
