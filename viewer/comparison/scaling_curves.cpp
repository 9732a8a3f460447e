#include "viewer/comparison/scaling_curves.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::viewer {
namespace {

using analyzer::Estimate;
using analyzer::ScalingSeries;

double most_measured(ScalingSeries const& series) {
  return static_cast<double>(series.points.back().devices);
}

/// More cost is less throughput, so that the bounds change places.
Estimate throughput_of_model(ScalingSeries const& series, analyzer::ScalingFit const& fit,
                             double devices) {
  Estimate const cost = fit.cost.predict(devices);
  Estimate throughput{series.throughput_at(devices, cost.value), {}, {}};
  if (cost.high) throughput.low = series.throughput_at(devices, *cost.high);
  if (cost.low) throughput.high = series.throughput_at(devices, *cost.low);
  return throughput;
}

ScalingCurve curve_of_model(ScalingSeries const& series, analyzer::ScalingFit const& fit,
                            double last) {
  constexpr int kPoints = 24;
  double const first = static_cast<double>(series.points.front().devices);
  ScalingCurve curve;
  curve.label = reports::model_label(fit.model);
  curve.hint = "A model of the measured step times: it does not know what a step is made of.";

  for (int i = 0; i <= kPoints; ++i) {
    double const devices = first * std::pow(last / first, static_cast<double>(i) / kPoints);
    curve.points.push_back({devices, throughput_of_model(series, fit, devices)});
  }
  return curve;
}

}  // namespace

std::vector<ScalingCurve> scaling_curves(ScalingSeries const& series) {
  bool const has_replay = series.replayed && !series.replayed->points.empty();
  double const last = most_measured(series) * (has_replay ? kCurvesBeyond : 1);
  std::vector<ScalingCurve> curves;
  if (series.points.size() > 1)
    for (analyzer::ScalingFit const& fit : series.fits.fits)
      curves.push_back(curve_of_model(series, fit, last));
  if (!has_replay) return curves;

  ScalingCurve replay{reports::replayed_curve_label(*series.replayed),
                      reports::replayed_curve_text(series),
                      true,
                      {}};
  for (analyzer::ReplayedPoint const& point : series.replayed->points)
    if (static_cast<double>(point.devices) <= last)
      replay.points.push_back(
          {static_cast<double>(point.devices), reports::replayed_throughput(series, point)});
  curves.push_back(std::move(replay));
  return curves;
}

std::vector<std::string> predicted_words(ScalingSeries const& series, uint64_t devices) {
  std::vector<std::string> lines;
  std::string_view const unit = reports::throughput_unit(series);
  if (series.replayed)
    for (analyzer::ReplayedPoint const& point : series.replayed->points) {
      if (point.devices != devices) continue;
      std::string const error =
          point.error ? fmt::format(", error {}", reports::signed_error(point.error)) : "";
      lines.push_back(fmt::format(
          "{}: step {} {}, {} {}{}", reports::replayed_curve_label(*series.replayed),
          base::format_duration(std::llround(point.step_ns.value)),
          reports::half_interval(point.step_ns),
          reports::plain_number(reports::replayed_throughput(series, point).value), unit, error));
    }

  if (series.points.size() < 2) return lines;
  for (analyzer::ScalingFit const& fit : series.fits.fits) {
    double const value = throughput_of_model(series, fit, static_cast<double>(devices)).value;
    lines.push_back(fmt::format("{}: {} {}", reports::model_label(fit.model),
                                reports::plain_number(value), unit));
  }
  return lines;
}

std::vector<uint64_t> predicted_sizes(ScalingSeries const& series) {
  std::vector<uint64_t> sizes;
  if (!series.replayed) return sizes;
  for (analyzer::ReplayedPoint const& point : series.replayed->points) {
    bool const is_shown =
        static_cast<double>(point.devices) <= most_measured(series) * kCurvesBeyond;
    if (is_shown && !reports::measured_step_ns(series, point.devices))
      sizes.push_back(point.devices);
  }
  return sizes;
}

}  // namespace stepscope::viewer
