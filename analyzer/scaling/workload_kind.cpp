#include "analyzer/scaling/workload_kind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyzer/scaling/growth.h"

namespace stepscope::analyzer {
namespace {

/// A batch that does not divide evenly, and one that is copied ahead of the first of ten steps,
/// differ by less. Another batch differs by more. The same batch in total differs by a third and
/// more per device.
constexpr double kSameBytes = 0.1;
/// Kernels of half the work take a little more than half the time; kernels of the same work seldom
/// less than 0.8 of it.
constexpr double kStrongExponent = -0.6, kWeakExponent = -0.3;

template <class OfRun>
double mean_of_runs(std::vector<RunMeasurements> const& runs, OfRun const& of_run) {
  double sum = 0;
  for (RunMeasurements const& run : runs) sum += of_run(run);
  return sum / static_cast<double>(runs.size());
}

double kernel_ns(RunMeasurements const& run) {
  double sum = 0;
  for (RunMeasurements::Kernel const& kernel : run.kernels)
    sum = std::accumulate(kernel.ns.begin(), kernel.ns.end(), sum);
  return sum / static_cast<double>(run.steps.size());
}

/// Per device; by number of devices.
using Work = std::vector<std::pair<double, double>>;

bool is_work_same(Work const& work, bool in_total) {
  auto const& [fewest, first] = work.front();
  return std::all_of(work.begin(), work.end(),
                     [&, least = fewest, base = first](auto const& entry) {
                       double const expected = in_total ? base * least / entry.first : base;
                       return std::abs(entry.second - expected) <= kSameBytes * expected;
                     });
}

bool are_fed(RunsByDevices const& runs) {
  return std::all_of(runs.begin(), runs.end(), [](auto const& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(), [](RunMeasurements const& run) {
      return run.fed_devices == run.devices && run.copied_in_bytes > 0;
    });
  });
}

}  // namespace

char const* to_string(ScalingKind kind) { return kind == ScalingKind::kStrong ? "strong" : "weak"; }

char const* to_string(KindEvidence evidence) {
  constexpr std::array kNames = {"asked", "copied_in", "kernels"};
  return kNames[static_cast<size_t>(evidence)];
}

KindStats find_kind(RunsByDevices const& runs) {
  bool const by_bytes = are_fed(runs);

  Work work;
  for (auto const& [devices, samples] : runs) {
    double const amount = mean_of_runs(samples, [&](RunMeasurements const& run) {
      return by_bytes ? run.copied_in_bytes / static_cast<double>(run.devices) : kernel_ns(run);
    });
    work.emplace_back(static_cast<double>(devices), amount);
  }

  KindStats facts;
  facts.evidence = by_bytes ? KindEvidence::kCopiedIn : KindEvidence::kKernels;
  facts.first = work.front().second;
  facts.last = work.back().second;

  auto const exponent = growth_exponent(work);
  if (!exponent) return facts;
  facts.exponent = *exponent;

  if (by_bytes ? is_work_same(work, true) : *exponent <= kStrongExponent)
    facts.kind = ScalingKind::kStrong;
  if (by_bytes ? is_work_same(work, false) : *exponent >= kWeakExponent)
    facts.kind = ScalingKind::kWeak;
  return facts;
}

}  // namespace stepscope::analyzer
