// The data of the scaling page's charts.
#include <array>
#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "reports/html/scaling_page.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"

namespace stepscope::reports {
namespace {

using ChartJson = nlohmann::json;
using analyzer::Estimate;
using analyzer::ScalingSeries;
using analyzer::StepPart;

/// Curves of models end at this multiple of the most measured devices: farther predictions say
/// little, and would crowd the points.
constexpr double kDrawnBeyond = 4;
constexpr int kPointsOfLine = 60;

/// The page's colours, by their names in report.css.
constexpr std::array<std::string_view, analyzer::kLostPartCount> kLostColours = {
    "compute", "sync",       "dependency",   "launch_latency", "exposed_comm",
    "peer",    "allocation", "exposed_copy", "input",          "unexplained"};
std::string_view colour_of(StepPart part) {
  return part == StepPart::kWaiting ? "peer" : std::string_view(analyzer::to_string(part));
}

/// [value, low, high]; without an interval both are null.
ChartJson with_bounds(Estimate const& estimate) {
  auto const or_null = [](std::optional<double> value) {
    return value ? ChartJson(*value) : ChartJson(nullptr);
  };
  return {estimate.value, or_null(estimate.low), or_null(estimate.high)};
}

ChartJson chart_points(ScalingSeries const& series) {
  ChartJson points = ChartJson::array();
  for (size_t p = 0; p < series.points.size(); ++p) {
    analyzer::ScalingPoint const& point = series.points[p];

    ChartJson parts = ChartJson::array(), factors = ChartJson::object();
    for (double const ns : point.parts_ns) parts.push_back(ns);
    for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
      factors[analyzer::to_string(static_cast<analyzer::ScalingFactor>(f))] =
          point.factors.by_factor[f];
    factors["parallel"] = point.factors.parallel;

    points.push_back({{"devices", point.devices},
                      {"runs", point.runs.size()},
                      {"step", with_bounds(point.step_ns)},
                      {"ideal", series.points[0].step_ns.value * series.ideal_share(0, p)},
                      {"throughput", with_bounds(point.throughput)},
                      {"speedup", with_bounds(point.speedup)},
                      {"efficiency", with_bounds(point.efficiency)},
                      {"factors", factors},
                      {"parts", parts}});
  }

  return points;
}

ChartJson chart_losses(ScalingSeries const& series) {
  ChartJson losses = ChartJson::array();
  for (analyzer::LostTime const& loss : series.losses) {
    ChartJson parts = ChartJson::array();
    for (size_t p = 0; p < analyzer::kLostPartCount; ++p)
      if (loss.parts_ns[p] != 0)
        parts.push_back({{"label", lost_part_words(static_cast<analyzer::LostPart>(p)).label},
                         {"colour", kLostColours[p]},
                         {"ns", loss.parts_ns[p]}});

    losses.push_back({{"from", series.points[loss.from].devices},
                      {"to", series.points[loss.to].devices},
                      {"ideal", loss.ideal_ns},
                      {"step", loss.step_ns},
                      {"parts", parts}});
  }

  return losses;
}

/// [devices, efficiency against the fewest devices, low, high], even on a logarithmic axis.
ChartJson chart_fits(ScalingSeries const& series) {
  ChartJson fits = ChartJson::array();
  double const first = static_cast<double>(series.points.front().devices);
  double const last = static_cast<double>(series.points.back().devices) * kDrawnBeyond;
  double const of_one = series.points.front().throughput.value / first;

  for (size_t i = 0; i < series.fits.fits.size(); ++i) {
    analyzer::ScalingFit const& fit = series.fits.fits[i];
    ChartJson line = ChartJson::array();
    for (int step = 0; step <= kPointsOfLine; ++step) {
      double const devices =
          first * std::pow(last / first, static_cast<double>(step) / kPointsOfLine);

      Estimate const cost = fit.cost.predict(devices);
      auto const rate = [&](std::optional<double> of) {
        return of ? ChartJson(series.throughput_at(devices, *of) / devices / of_one)
                  : ChartJson(nullptr);
      };
      line.push_back({devices, rate(cost.value), rate(cost.high), rate(cost.low)});
    }

    fits.push_back(
        {{"label", model_label(fit.model)}, {"best", series.fits.best == i}, {"line", line}});
  }

  return fits;
}

/// The curve of a replay in the same form; null without a replay.
ChartJson chart_replayed(ScalingSeries const& series) {
  if (!series.replayed || series.replayed->points.empty()) return nullptr;
  double const farthest = static_cast<double>(series.points.back().devices) * kDrawnBeyond;

  ChartJson line = ChartJson::array();
  for (analyzer::ReplayedPoint const& point : series.replayed->points) {
    if (static_cast<double>(point.devices) > farthest) break;
    ChartJson row = with_bounds(replayed_efficiency(series, point));
    row.insert(row.begin(), point.devices);
    line.push_back(row);
  }
  return {{"label", replayed_curve_label(*series.replayed)}, {"line", line}};
}

}  // namespace

std::string scaling_page_data(ScalingSeries const& series) {
  ChartJson parts = ChartJson::array();
  for (size_t p = 0; p < analyzer::kStepPartCount; ++p) {
    auto const part = static_cast<StepPart>(p);
    parts.push_back({{"key", colour_of(part)},
                     {"label", step_part_label(part)},
                     {"idle", part >= StepPart::kFirstIdle}});
  }

  ChartJson const data = {{"scaling",
                           {{"unit", throughput_unit(series)},
                            {"parts", parts},
                            {"points", chart_points(series)},
                            {"losses", chart_losses(series)},
                            {"fits", chart_fits(series)},
                            {"replayed", chart_replayed(series)}}}};

  return data.dump(-1, ' ', false, ChartJson::error_handler_t::replace);
}

}  // namespace stepscope::reports
