#include "reports/words/runs/replayed_curve_words.h"

#include <cmath>

#include <fmt/format.h>

#include "analyzer/whatif/whatif_stats.h"
#include "reports/words/language.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::CollectiveLaw;
using analyzer::CurveRefusal;
using analyzer::Estimate;
using analyzer::ReplayedCurve;
using analyzer::ScalingSeries;

/// Models of the kind are usually as far off; beyond, something grows that no replay knows.
constexpr double kDoubtfulCurve = 0.1;

std::string_view law_text(ReplayedCurve const& curve) {
  if (!curve.is_law_measured)
    return tr(
        " Collectives take what the faster one of ring and tree takes; the interval covers "
        "rings and a latency that does not grow.");
  switch (curve.law) {
    case CollectiveLaw::kTree:
      return tr(" Measured collectives grow as those of a tree.");
    case CollectiveLaw::kFlat:
      return tr(" Measured collectives grow as those of a ring whose latency does not grow.");
    case CollectiveLaw::kNccl:
    case CollectiveLaw::kRing:
      break;
  }
  return tr(" Measured collectives grow as those of a ring.");
}

std::string refusal_text(ReplayedCurve const& curve) {
  switch (*curve.refusal) {
    case CurveRefusal::kNoCollectives:
      return std::string(tr("no run has a collective of several devices."));
    case CurveRefusal::kPipeline:
      return std::string(
          tr("the devices are stages of a pipeline, and more of them would be other stages."));
    case CurveRefusal::kGroups:
      return std::string(
          tr("the largest collective does not join all devices, so that it is not known which "
             "groups would grow."));
    case CurveRefusal::kNoReplay:
      return std::string(tr("no run has steps that can be replayed."));
    case CurveRefusal::kFidelity:
      return tr("the replay of an unchanged run misses its step by {}.",
                signed_error(curve.base_error));
    case CurveRefusal::kKernels:
      break;
  }

  return std::string(tr("the runs have too few kernels in common to know what less work takes."));
}

Estimate ratio_to(double numerator, Estimate const& steps) {
  Estimate result{steps.value > 0 ? numerator / steps.value : 0, {}, {}};
  if (steps.high && *steps.high > 0) result.low = numerator / *steps.high;
  if (steps.low && *steps.low > 0) result.high = numerator / *steps.low;
  return result;
}

}  // namespace

std::string signed_error(std::optional<double> error) {
  if (!error) return "–";
  double const percent = *error * 100;
  return fmt::format("{:+.2f} %", std::abs(percent) < 0.005 ? 0.0 : percent);
}

std::string replayed_curve_label(ReplayedCurve const& curve) {
  return tr("replay of {}", devices_text(curve.base_devices));
}

std::string replayed_curve_text(ScalingSeries const& series) {
  if (!series.replayed) return {};
  ReplayedCurve const& curve = *series.replayed;
  if (curve.refusal) return tr("No replay predicts other numbers: {}", refusal_text(curve));

  std::string text = tr("A replay of the run on {} predicts the step on other numbers of devices.",
                        devices_text(curve.base_devices));
  std::optional<double> const worst = curve.worst_error();
  if (worst)
    text += tr(" It misses the measured steps by at most {} %.",
               base::format_significant(*worst * 100, 2));
  if (worst && *worst > kDoubtfulCurve)
    text += tr(" Something grows here that a replay does not know, so do not rely on the curve.");
  text += law_text(curve);

  if (curve.probe_devices)
    text += tr(" Kernels take a + b · work, from the runs on {} and {}.", curve.base_devices,
               devices_text(*curve.probe_devices));
  else
    text += tr(" Each device keeps its work.");
  if (std::abs(curve.base_error) > analyzer::kReplayCaution)
    text += tr(" Caution: the replay of the unchanged run misses its step by {}.",
               signed_error(curve.base_error));
  return text;
}

Estimate replayed_throughput(ScalingSeries const& series, analyzer::ReplayedPoint const& point) {
  double const work = series.throughput_at(static_cast<double>(point.devices),
                                           series.cost_of_step(point.devices, 1));
  return ratio_to(work, point.step_ns);
}

Estimate replayed_efficiency(ScalingSeries const& series, analyzer::ReplayedPoint const& point) {
  return ratio_to(series.efficiency_of(point.devices, 1), point.step_ns);
}

std::optional<double> measured_step_ns(ScalingSeries const& series, uint64_t devices) {
  for (analyzer::ScalingPoint const& point : series.points)
    if (point.devices == devices) return point.step_ns.value;
  return std::nullopt;
}

}  // namespace stepscope::reports
