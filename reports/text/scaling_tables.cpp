#include "reports/text/scaling_tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "reports/words/kernel_label.h"
#include "reports/words/labels.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Estimate;
using analyzer::ScalingPoint;
using analyzer::ScalingSeries;

/// Parts that are less than this of every step are noise in a table.
constexpr double kLeastTablePart = 0.001;
constexpr size_t kMostKernelText = 48;
/// Predictions beyond this multiple of the most measured devices are in the JSON and on the page.
constexpr uint64_t kReplayedBeyond = 4;

std::string ns_text(double ns) {
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}
std::string optional_ns(std::optional<double> ns) { return ns ? ns_text(*ns) : "–"; }
std::string exponent_text(std::optional<double> exponent) {
  if (!exponent) return "–";
  return fmt::format("n^{:.2f}", std::abs(*exponent) < 0.005 ? 0.0 : *exponent);
}

std::vector<std::string> devices_heading(ScalingSeries const& series, std::string first) {
  std::vector<std::string> row = {std::move(first)};
  for (ScalingPoint const& point : series.points) row.push_back(devices_text(point.devices));
  return row;
}

}  // namespace

TextTable speed_table(ScalingSeries const& series) {
  TextTable table = {{"devices", "runs", "step", "±", std::string(throughput_unit(series)),
                      "speed-up", "ideal", "efficiency", "95 % interval"}};
  double const first = static_cast<double>(series.points.front().devices);

  for (ScalingPoint const& point : series.points)
    table.push_back({base::format_count(point.devices), base::format_count(point.runs.size()),
                     ns_text(point.step_ns.value), half_interval(point.step_ns),
                     plain_number(point.throughput.value), plain_number(point.speedup.value),
                     plain_number(static_cast<double>(point.devices) / first),
                     base::format_share(point.efficiency.value), share_interval(point.efficiency)});

  return table;
}

TextTable factor_table(ScalingSeries const& series) {
  TextTable table = {devices_heading(series, "of the devices' time")};

  auto const add = [&](std::string label, auto const& value) {
    std::vector<std::string> row = {std::move(label)};
    for (ScalingPoint const& point : series.points) row.push_back(base::format_share(value(point)));
    table.push_back(std::move(row));
  };

  add("parallel efficiency", [](ScalingPoint const& point) { return point.factors.parallel; });
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f) {
    auto const factor = static_cast<analyzer::ScalingFactor>(f);
    std::string const indent = factor == analyzer::ScalingFactor::kComputation ? "" : "  ";
    add(indent + std::string(factor_words(factor).label),
        [&](ScalingPoint const& point) { return point.factors.of(factor); });
  }

  return table;
}

TextTable step_part_table(ScalingSeries const& series) {
  TextTable table = {devices_heading(series, "of a step")};
  table[0].emplace_back("grows as");

  for (size_t p = 0; p < analyzer::kStepPartCount; ++p) {
    bool const is_shown =
        std::any_of(series.points.begin(), series.points.end(), [&](ScalingPoint const& point) {
          return point.parts_ns[p] >= kLeastTablePart * point.step_ns.value;
        });
    if (!is_shown) continue;

    std::vector<std::string> row = {step_part_label(static_cast<analyzer::StepPart>(p))};
    for (ScalingPoint const& point : series.points) row.push_back(ns_text(point.parts_ns[p]));
    row.push_back(exponent_text(series.part_exponents[p]));
    table.push_back(std::move(row));
  }

  return table;
}

TextTable kernel_growth_table(ScalingSeries const& series, size_t rows) {
  TextTable table = {devices_heading(series, "kernel, a step and device")};
  table[0].emplace_back("grows as");
  table[0].emplace_back("lost");

  for (size_t k = 0; k < std::min(rows, series.kernels.size()); ++k) {
    analyzer::KernelGrowth const& kernel = series.kernels[k];
    std::vector<std::string> row = {
        kernel.name.empty() ? "all others" : kernel_label(kernel.name, kMostKernelText)};

    for (auto const& ns : kernel.ns) row.push_back(optional_ns(ns));
    row.push_back(exponent_text(kernel.exponent));
    row.push_back(ns_text(kernel.lost_ns));
    table.push_back(std::move(row));
  }

  return table;
}

TextTable fit_table(ScalingSeries const& series) {
  uint64_t const next = 2 * series.points.back().devices;
  TextTable table = {{"model", "error", "pays off up to",
                      fmt::format("{} at {}", throughput_unit(series), next), "95 % interval"}};

  for (size_t i = 0; i < series.fits.fits.size(); ++i) {
    analyzer::ScalingFit const& fit = series.fits.fits[i];
    Estimate const cost = fit.cost.predict(static_cast<double>(next));
    auto const rate = [&](double of_cost) {
      return plain_number(series.throughput_at(static_cast<double>(next), of_cost));
    };

    table.push_back(
        {fmt::format("{}{}", model_label(fit.model), series.fits.best == i ? " (best)" : ""),
         fit.loo_error ? base::format_share(*fit.loo_error) : "–",
         scaling_limit_number(fit.pays_to), rate(cost.value),
         cost.low ? fmt::format("{} … {}", rate(*cost.high), rate(*cost.low)) : "–"});
  }

  return table;
}

TextTable replayed_table(ScalingSeries const& series) {
  TextTable table = {{"devices", "replayed step", "95 % interval", "measured", "error",
                      std::string(throughput_unit(series)), "efficiency"}};
  if (!series.replayed) return table;
  uint64_t const farthest = kReplayedBeyond * series.points.back().devices;

  for (analyzer::ReplayedPoint const& point : series.replayed->points) {
    if (point.devices > farthest) break;
    Estimate const& step = point.step_ns;
    bool const is_base = point.devices == series.replayed->base_devices;
    table.push_back(
        {base::format_count(point.devices), ns_text(step.value),
         step.low ? fmt::format("{} … {}", ns_text(*step.low), ns_text(*step.high)) : "–",
         optional_ns(measured_step_ns(series, point.devices)),
         is_base ? "replayed" : signed_error(point.error),
         plain_number(replayed_throughput(series, point).value),
         base::format_share(replayed_efficiency(series, point).value)});
  }

  return table;
}

LossLines loss_lines(analyzer::LostTime const& loss, double least_share) {
  std::vector<size_t> order(analyzer::kLostPartCount);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(loss.parts_ns[a]) > std::abs(loss.parts_ns[b]);
  });

  LossLines result;
  for (size_t const p : order) {
    int64_t const ns = loss.parts_ns[p];
    if (ns == 0) continue;

    auto const part = static_cast<analyzer::LostPart>(p);
    if (std::abs(static_cast<double>(ns)) < least_share * static_cast<double>(loss.step_ns)) {
      result.rest_ns += ns;
      result.has_rest = true;
      continue;
    }

    result.lines.push_back(
        {part, ns, std::string(lost_part_words(part).label), lost_part_reason(loss, part)});
  }

  return result;
}

}  // namespace stepscope::reports
