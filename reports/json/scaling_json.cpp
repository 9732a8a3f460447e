#include "reports/json/scaling_json.h"

#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using ScalingJson = nlohmann::ordered_json;
using analyzer::Estimate;
using analyzer::ScalingSeries;

/// JSON has no NaN and no infinity: a number that does not exist is null.
ScalingJson number_or_null(double value) {
  return std::isfinite(value) ? ScalingJson(value) : ScalingJson(nullptr);
}
ScalingJson number_or_null(std::optional<double> value) {
  return value ? number_or_null(*value) : ScalingJson(nullptr);
}
ScalingJson text_or_null(std::string const& text) {
  return text.empty() ? ScalingJson(nullptr) : ScalingJson(base::printable(text));
}

ScalingJson estimate_json(Estimate const& of) {
  return {{"value", number_or_null(of.value)},
          {"low", number_or_null(of.low)},
          {"high", number_or_null(of.high)}};
}

ScalingJson numbers(std::vector<std::optional<double>> const& values) {
  ScalingJson list = ScalingJson::array();
  for (auto const& value : values) list.push_back(number_or_null(value));
  return list;
}

ScalingJson factors_json(analyzer::ScalingFactors const& factors) {
  ScalingJson json = {{"parallel", number_or_null(factors.parallel)}};
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
    json[analyzer::to_string(static_cast<analyzer::ScalingFactor>(f))] =
        number_or_null(factors.by_factor[f]);
  return json;
}

ScalingJson points_json(ScalingSeries const& series) {
  ScalingJson points = ScalingJson::array();
  for (analyzer::ScalingPoint const& point : series.points) {
    ScalingJson runs = ScalingJson::array(), parts = ScalingJson::object();
    for (std::string const& run : point.runs) runs.push_back(base::printable(run));

    for (size_t p = 0; p < analyzer::kStepPartCount; ++p)
      parts[analyzer::to_string(static_cast<analyzer::StepPart>(p))] =
          number_or_null(point.parts_ns[p]);

    points.push_back({{"devices", point.devices},
                      {"runs", runs},
                      {"steps", point.steps},
                      {"warmup_steps", point.warmup_steps},
                      {"slow_start_steps", point.slow_start_steps},
                      {"outlier_steps", point.outlier_steps},
                      {"incomplete_steps", point.incomplete_steps},
                      {"step_ns", estimate_json(point.step_ns)},
                      {"throughput", estimate_json(point.throughput)},
                      {"speedup", estimate_json(point.speedup)},
                      {"efficiency", estimate_json(point.efficiency)},
                      {"factors", factors_json(point.factors)},
                      {"parts_ns", parts},
                      {"copied_in_bytes", number_or_null(point.copied_in_bytes)}});
  }

  return points;
}

ScalingJson losses_json(ScalingSeries const& series) {
  ScalingJson losses = ScalingJson::array();
  for (analyzer::LostTime const& loss : series.losses) {
    ScalingJson parts = ScalingJson::array();

    for (size_t p = 0; p < analyzer::kLostPartCount; ++p) {
      auto const part = static_cast<analyzer::LostPart>(p);
      parts.push_back({{"part", analyzer::to_string(part)},
                       {"ns", loss.parts_ns[p]},
                       {"label", lost_part_words(part).label},
                       {"reason", text_or_null(lost_part_reason(loss, part))}});
    }

    losses.push_back({{"from_devices", series.points[loss.from].devices},
                      {"to_devices", series.points[loss.to].devices},
                      {"ideal_ns", loss.ideal_ns},
                      {"step_ns", loss.step_ns},
                      {"parts", parts}});
  }

  return losses;
}

ScalingJson growth_json(ScalingSeries const& series) {
  ScalingJson parts = ScalingJson::array(), kernels = ScalingJson::array(),
              collectives = ScalingJson::array();

  for (size_t p = 0; p < analyzer::kStepPartCount; ++p)
    parts.push_back({{"part", analyzer::to_string(static_cast<analyzer::StepPart>(p))},
                     {"exponent", number_or_null(series.part_exponents[p])}});

  for (analyzer::KernelGrowth const& kernel : series.kernels)
    kernels.push_back({{"name", text_or_null(kernel.name)},
                       {"ns", numbers(kernel.ns)},
                       {"calls", numbers(kernel.calls)},
                       {"exponent", number_or_null(kernel.exponent)},
                       {"lost_ns", number_or_null(kernel.lost_ns)}});

  for (analyzer::CollectiveGrowth const& collective : series.collectives)
    collectives.push_back({{"op", model::to_string(collective.op)},
                           {"bytes", collective.bytes},
                           {"transfer_ns", numbers(collective.transfer_ns)},
                           {"per_step", numbers(collective.per_step)},
                           {"exponent", number_or_null(collective.exponent)}});

  return {{"parts", parts}, {"kernels", kernels}, {"collectives", collectives}};
}

ScalingJson scaling_limit(std::optional<analyzer::ScalingLimit> const& pays_to) {
  if (!pays_to) return nullptr;
  return {{"devices", pays_to->devices}, {"or_more", pays_to->is_open}};
}

ScalingJson predictions_json(ScalingSeries const& series, analyzer::ScalingFit const& fit) {
  ScalingJson predictions = ScalingJson::array();
  double const first_cost = 1e9 * series.samples.value_or(1) *
                            static_cast<double>(series.points.front().devices) /
                            series.points.front().throughput.value;

  for (uint64_t devices = series.points.front().devices; devices <= series.fits.farthest_devices;
       devices *= 2) {
    auto const n = static_cast<double>(devices);
    Estimate const cost = fit.cost.predict(n);

    auto const by_cost = [&](auto const& of) {
      Estimate result{of(cost.value), {}, {}};
      if (cost.high) result.low = of(*cost.high);
      if (cost.low) result.high = of(*cost.low);
      return estimate_json(result);
    };

    predictions.push_back(
        {{"devices", devices},
         {"throughput", by_cost([&](double each) { return series.throughput_at(n, each); })},
         {"efficiency", by_cost([&](double each) { return first_cost / each; })}});
  }

  return predictions;
}

/// The growing term of the performance model normal form.
ScalingJson term_json(analyzer::ScalingFit const& fit) {
  bool const is_constant = fit.term.shape == analyzer::CostTerm::Shape::kConstant;
  return {{"numerator", fit.term.numerator},
          {"denominator", fit.term.denominator},
          {"logs", fit.term.logs},
          {"constant_ns", number_or_null(fit.cost.coefficient(0))},
          {"factor_ns", is_constant ? ScalingJson(0.0) : number_or_null(fit.cost.coefficient(1))}};
}

ScalingJson fits_json(ScalingSeries const& series) {
  ScalingJson fits = ScalingJson::array(), too_few = ScalingJson::array();
  for (analyzer::ScalingFit const& fit : series.fits.fits) {
    bool const is_pmnf = fit.model == analyzer::ScalingModel::kPmnf;
    fits.push_back({{"model", analyzer::to_string(fit.model)},
                    {"one_device_ns", number_or_null(fit.cost.cost(1))},
                    {"sigma", is_pmnf ? ScalingJson(nullptr) : estimate_json(fit.sigma)},
                    {"kappa", fit.model == analyzer::ScalingModel::kUsl ? estimate_json(fit.kappa)
                                                                        : ScalingJson(nullptr)},
                    {"term", is_pmnf ? term_json(fit) : ScalingJson(nullptr)},
                    {"residual_share", number_or_null(fit.residual_share)},
                    {"leave_one_out_error", number_or_null(fit.loo_error)},
                    {"peak_devices", number_or_null(fit.peak_devices)},
                    {"most_speedup", number_or_null(fit.most_speedup)},
                    {"pays_to", scaling_limit(fit.pays_to)},
                    {"pays_to_low", scaling_limit(fit.pays_to_low)},
                    {"pays_to_high", scaling_limit(fit.pays_to_high)},
                    {"text", fit_text(fit)},
                    {"predictions", predictions_json(series, fit)}});
  }

  for (auto const model : series.fits.too_few)
    too_few.push_back(
        {{"model", analyzer::to_string(model)}, {"needs", analyzer::fewest_sizes(model)}});
  auto const best = series.fits.best;

  return {{"best", best ? ScalingJson(analyzer::to_string(series.fits.fits[*best].model))
                        : ScalingJson(nullptr)},
          {"models", fits},
          {"too_few_devices", too_few},
          {"text", scaling_limit_text(series)}};
}

/// Null: no run was replayed.
ScalingJson replayed_json(ScalingSeries const& series) {
  if (!series.replayed) return nullptr;
  analyzer::ReplayedCurve const& curve = *series.replayed;
  bool const has_curve = !curve.refusal;

  ScalingJson points = ScalingJson::array();
  for (analyzer::ReplayedPoint const& point : curve.points)
    points.push_back({{"devices", point.devices},
                      {"step_ns", estimate_json(point.step_ns)},
                      {"measured_step_ns", number_or_null(measured_step_ns(series, point.devices))},
                      {"error", number_or_null(point.error)},
                      {"throughput", estimate_json(replayed_throughput(series, point))},
                      {"efficiency", estimate_json(replayed_efficiency(series, point))}});

  return {{"refused",
           has_curve ? ScalingJson(nullptr) : ScalingJson(analyzer::to_string(*curve.refusal))},
          {"text", replayed_curve_text(series)},
          {"base_devices", curve.base_devices},
          {"base_run", text_or_null(curve.base_run)},
          {"base_error", number_or_null(curve.base_error)},
          {"collectives",
           has_curve ? ScalingJson(analyzer::to_string(curve.law)) : ScalingJson(nullptr)},
          {"collectives_measured", curve.is_law_measured},
          {"probe_devices",
           curve.probe_devices ? ScalingJson(*curve.probe_devices) : ScalingJson(nullptr)},
          {"worst_error", number_or_null(curve.worst_error())},
          {"points", points}};
}

ScalingJson broken_json(ScalingSeries const& series) {
  if (!series.broken) return nullptr;
  return {{"factor", analyzer::to_string(series.broken->factor)},
          {"devices", series.points[series.broken->point].devices},
          {"before", number_or_null(series.broken->before)},
          {"here", number_or_null(series.broken->here)}};
}

ScalingJson caveats_json(ScalingSeries const& series) {
  ScalingJson caveats = ScalingJson::array();
  for (analyzer::SeriesCaveatStats const& caveat : series.caveats)
    caveats.push_back(
        {{"caveat", analyzer::to_string(caveat.caveat)}, {"devices", caveat.devices}});
  return caveats;
}

}  // namespace

std::string scaling_json(ScalingSeries const& series) {
  ScalingJson differences = ScalingJson::array();
  for (analyzer::PointDifference const& each : series.differences)
    differences.push_back({{"devices", series.points[each.point].devices},
                           {"condition", analyzer::to_string(each.difference.condition)},
                           {"name", text_or_null(each.difference.name)},
                           {"text", difference_text(each.difference)}});

  bool const by_bytes = series.kind.evidence == analyzer::KindEvidence::kCopiedIn;
  ScalingJson const document = {{"schema", 1},
                                {"headline", scaling_headline(series)},
                                {"scaling", analyzer::to_string(*series.kind.kind)},
                                {"known_by", analyzer::to_string(series.kind.evidence)},
                                {"work_per_device",
                                 {{"unit", by_bytes ? "bytes" : "ns"},
                                  {"first", number_or_null(series.kind.first)},
                                  {"last", number_or_null(series.kind.last)},
                                  {"exponent", number_or_null(series.kind.exponent)}}},
                                {"throughput_unit", throughput_unit(series)},
                                {"points", points_json(series)},
                                {"differences", differences},
                                {"broken", broken_json(series)},
                                {"losses", losses_json(series)},
                                {"growth", growth_json(series)},
                                {"fits", fits_json(series)},
                                {"replayed", replayed_json(series)},
                                {"caveats", caveats_json(series)},
                                {"notes", scaling_notes(series)}};

  return document.dump(1, ' ', false, ScalingJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
