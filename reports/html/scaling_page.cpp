#include "reports/html/scaling_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/document.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Estimate;
using analyzer::LostTime;
using analyzer::ScalingPoint;
using analyzer::ScalingSeries;

/// Parts of less than this share of every step are left out of the table of parts: the JSON has
/// them.
constexpr double kLeastRowShare = 0.0005;

Cell optional_time(std::optional<double> ns) { return ns ? duration_cell(*ns) : none_cell(); }
Cell plain_cell(double value) { return number_cell(plain_number(value), value); }
Cell exponent_cell(std::optional<double> exponent) {
  if (!exponent) return none_cell();
  double const shown_exponent = std::abs(*exponent) < 0.005 ? 0.0 : *exponent;
  return number_cell(fmt::format("{:.2f}", shown_exponent), *exponent);
}
Cell signed_cell(double ns) { return number_cell(signed_duration(ns), ns); }
Cell interval_cell(Estimate const& estimate) {
  return estimate.low ? number_cell(share_interval(estimate), *estimate.low) : none_cell();
}
std::string note_list(std::vector<std::string> const& lines, std::string_view title) {
  if (lines.empty()) return {};
  std::string items;
  for (std::string const& line : lines)
    items += fmt::format("<li>{}</li>", escape(with_joined_units(line), 2000));
  return fmt::format("<h3>{}</h3><ul>{}</ul>\n", escape(tr(title)), items);
}
void number_for_each_size(Table& table, ScalingSeries const& series, std::string_view hint = {}) {
  for (ScalingPoint const& point : series.points) table.number(devices_text(point.devices), hint);
}

std::string verdict_section(ScalingSeries const& series) {
  ScalingPoint const &first = series.points.front(), &last = series.points.back();
  std::string const most = devices_text(last.devices), least = devices_text(first.devices);

  std::string tiles =
      key_tile(base::format_share(last.efficiency.value), tr("efficiency on {}", most),
               tr("Speed-up over {} / ideal speed-up", least));
  tiles += key_tile(plain_number(last.speedup.value) + " ×", tr("the work of {}", least),
                    tr("Ideal: {}", plain_number(static_cast<double>(last.devices) /
                                                 static_cast<double>(first.devices))));
  tiles +=
      key_tile(plain_number(last.throughput.value), tr("{} on {}", throughput_unit(series), most),
               tr("On {}: {}", least, plain_number(first.throughput.value)));
  tiles +=
      key_tile(base::format_share(last.factors.parallel), tr("of the time of {}: compute", most),
               "Parallel efficiency: compute time / (devices × elapsed)");

  if (series.fits.best)
    tiles += key_tile(scaling_limit_number(series.fits.fits[*series.fits.best].pays_to),
                      "devices: doubling pays off up to here",
                      tr("Up to this number a doubling gives at least {} times the throughput, "
                         "according to the model that predicts best",
                         analyzer::kLeastDoublingGain));

  std::string body = note_list(scaling_differences(series), tr("Not the same as on {}", least));
  body += fmt::format("<p class=\"verdict\">{}</p>\n",
                      escape(with_joined_units(scaling_headline(series)), 4000));
  body += fmt::format("<div class=\"tiles\">{}</div>\n", tiles);
  body += paragraph(scaling_kind_text(series)) + paragraph(scaling_limit_text(series));

  return section("summary", "Verdict",
                 body + note_list(scaling_notes(series), "Notes on these numbers"));
}

std::string speed_section(ScalingSeries const& series) {
  Table table("speed-table", "Throughput, speed-up and efficiency by number of devices");
  table.number("Devices")
      .number("Runs")
      .number("Steps", "Steady steps of all runs")
      .number("Step", "Mean of the means of the runs");
  table.number("±", "Half of the 95 % interval of the mean step / mean step");
  table.number(throughput_unit(series)).number("Speed-up").number("Ideal");
  table.number("Efficiency", "Speed-up / ideal").number("95 % interval");

  double const first = static_cast<double>(series.points.front().devices);
  for (ScalingPoint const& point : series.points) {
    Cell const step_interval =
        point.step_ns.low
            ? number_cell(half_interval(point.step_ns),
                          (*point.step_ns.high - *point.step_ns.low) / point.step_ns.value)
            : none_cell();
    table.row({count_cell(point.devices), count_cell(point.runs.size()), count_cell(point.steps),
               duration_cell(point.step_ns.value), step_interval,
               plain_cell(point.throughput.value), plain_cell(point.speedup.value),
               plain_cell(static_cast<double>(point.devices) / first),
               share_cell(point.efficiency.value), interval_cell(point.efficiency)});
  }

  std::string const how =
      "The length of a step is the mean of its period over the devices, "
      "so it does not depend on which device finishes last. "
      "Warm-up, a slow start and outliers are left out. "
      "Error bars are 95 % intervals (Student's t): "
      "over the runs if a number of devices has several; "
      "else over the steps, or over blocks of steps if neighbours are alike. "
      "Intervals of ratios are computed on their logarithms.";

  std::string body =
      "<div class=\"panels\"><div class=\"panel\">" +
      chart("speedup", "Speed-up, by number of devices", how) + "</div><div class=\"panel\">" +
      chart("efficiency", "Efficiency, by number of devices",
            "Speed-up over the fewest devices, divided by the ratio of the numbers of devices. "
            "100 % is ideal; more is possible if smaller parts of the work fit caches better.") +
      "</div></div>\n";

  return section("speed", "Speed-up and efficiency", body + table.html());
}

std::string factors_section(ScalingSeries const& series) {
  Table table("factors-table", "Factors of the efficiency by number of devices");
  table.text("Factor");
  number_for_each_size(table, series);

  auto const add = [&](FactorWords const& words, auto const& value) {
    std::vector<Cell> cells = {{fmt::format("<span title=\"{}\">{}</span>",
                                            escape(tr(words.meaning)), escape(tr(words.label))),
                                std::nullopt}};
    for (ScalingPoint const& point : series.points) cells.push_back(share_cell(value(point)));
    table.row(std::move(cells));
  };

  add({"parallel efficiency",
       "compute time / (devices × elapsed): the product of the next three factors"},
      [](ScalingPoint const& point) { return point.factors.parallel; });
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
    add(factor_words(static_cast<analyzer::ScalingFactor>(f)),
        [f](ScalingPoint const& point) { return point.factors.by_factor[f]; });
  add({"efficiency",
       "parallel efficiency × computation scaling / parallel efficiency of the fewest "
       "devices"},
      [](ScalingPoint const& point) { return point.efficiency.value; });

  std::string body = paragraph(scaling_break_text(series));
  body += chart("factors", "Where the devices' time goes, by number of devices",
                "The factors are those of POP and TALP, over the steady steps. "
                "Load balance = Σ compute / (n · most compute of a device). "
                "Communication efficiency = most compute / most busy time of a device. "
                "Orchestration = most busy time / elapsed. "
                "Their product is the parallel efficiency, Σ compute / (n · elapsed). "
                "The bar shows it, and above it what each factor takes: "
                "1 − load balance, load balance × (1 − communication), and so on. "
                "Computation scaling compares the compute time of the same work. "
                "Multiplied by the parallel efficiency it gives the efficiency against the fewest "
                "devices, shown by the line.");

  return section("factors", "Factors", body + table.html());
}

std::string pair_text(ScalingSeries const& series, LostTime const& loss) {
  return fmt::format("{} → {}", series.points[loss.from].devices, series.points[loss.to].devices);
}

std::string loss_section(ScalingSeries const& series) {
  Table table("loss-table", "Time lost per step against ideal scaling: exact breakdown");
  table.text("Part");

  for (LostTime const& loss : series.losses)
    table.number(pair_text(series, loss), "Numbers of devices that are compared");
  table.text("Most of it", "From the fewest to the most devices");

  LostTime const& whole = series.losses[series.points.size() - 2];
  for (size_t p = 0; p < analyzer::kLostPartCount; ++p) {
    auto const part = static_cast<analyzer::LostPart>(p);
    if (std::all_of(series.losses.begin(), series.losses.end(),
                    [p](LostTime const& loss) { return loss.parts_ns[p] == 0; }))
      continue;

    std::vector<Cell> cells = {
        {fmt::format("<span class=\"nw\" title=\"{}\">{}</span>",
                     escape(lost_part_words(part).meaning), escape(lost_part_words(part).label)),
         std::nullopt}};
    for (LostTime const& loss : series.losses)
      cells.push_back(signed_cell(static_cast<double>(loss.parts_ns[p])));

    std::string const reason = lost_part_reason(whole, part);
    cells.push_back(reason.empty() ? Cell{"", std::nullopt} : prose_cell(reason));
    table.row(std::move(cells));
  }

  std::vector<Cell> sums = {{fmt::format("<b>{}</b>", tr("lost in all")), std::nullopt}};
  for (LostTime const& loss : series.losses)
    sums.push_back(signed_cell(static_cast<double>(loss.step_ns - loss.ideal_ns)));
  sums.push_back({"", std::nullopt});
  table.row(std::move(sums));

  std::string const how =
      "Lost time = mean step − mean step of fewer devices × share of the work. "
      "The share is 1 for weak scaling, fewer / more devices for strong scaling. "
      "It is split into the same differences of all parts of a step, "
      "which sum to it to the nanosecond. "
      "Waiting is split by the reason why devices were late; "
      "if the reason is compute, it is imbalance.";

  return section(
      "loss", "Lost time",
      chart("loss", "Time lost per step against ideal scaling, by cause", how) + table.html());
}

std::string parts_section(ScalingSeries const& series) {
  Table table("parts-table", "Parts of a step by number of devices");
  table.text("Part");
  number_for_each_size(table, series, "Mean step");

  table.number("Exponent of n",
               "Exponent by least squares of the logarithms; ideal: "
               "0 for weak scaling, -1 for strong scaling");

  for (size_t p = 0; p < analyzer::kStepPartCount; ++p) {
    bool const is_seen =
        std::any_of(series.points.begin(), series.points.end(), [p](ScalingPoint const& point) {
          return point.parts_ns[p] > kLeastRowShare * point.step_ns.value;
        });
    if (!is_seen) continue;

    std::vector<Cell> cells = {label_cell(step_part_label(static_cast<analyzer::StepPart>(p)))};
    for (ScalingPoint const& point : series.points)
      cells.push_back(duration_cell(point.parts_ns[p]));
    cells.push_back(exponent_cell(series.part_exponents[p]));
    table.row(std::move(cells));
  }

  return section(
      "parts", "Step",
      chart("step-parts", "Parts of a step, by number of devices",
            "Exact breakdown of the mean steady step, as in the report of a run. "
            "The mark is the ideal step: the step of the fewest devices × share of the work.") +
          table.html());
}

std::string collectives_block(ScalingSeries const& series) {
  if (series.collectives.empty()) return {};

  Table table("collectives-growth", "Collectives by number of devices: mean transfer");
  table.text("Operation").number("Size", "Message bytes");
  number_for_each_size(table, series, "Shortest participant's duration, mean");
  table.number("Exponent of n").number("A step", "On the most devices");

  for (analyzer::CollectiveGrowth const& row : series.collectives) {
    if (table.size() == kMaxTableRows) break;
    std::vector<Cell> cells = {text_cell(model::to_string(row.op)),
                               row.bytes > 0 ? bytes_cell(row.bytes) : none_cell()};
    for (auto const& ns : row.transfer_ns) cells.push_back(optional_time(ns));
    cells.push_back(exponent_cell(row.exponent));
    cells.push_back(measure_cell(row.per_step.back(), ""));
    table.row(std::move(cells));
  }

  return subheading("Collectives") + table.html();
}

std::string growth_section(ScalingSeries const& series) {
  if (series.kernels.empty() && series.collectives.empty())
    return section("kernels", "Kernels", empty_note("No kernel was recorded."));

  Table table("kernels-growth", "Kernels by number of devices: time in a step of a device");
  table.text("Kernel");
  number_for_each_size(table, series, "Summed durations in a step of a device");
  table.number("Exponent of n",
               "Exponent by least squares of the logarithms; ideal: "
               "0 for weak scaling, -1 for strong scaling");
  table.number("Calls", "A step and device, on the most devices");
  table.number("Lost", "Time on the most devices − time on the fewest × share of the work");

  for (analyzer::KernelGrowth const& kernel : series.kernels) {
    if (table.size() == kMaxTableRows) break;
    std::vector<Cell> cells = {kernel.name.empty() ? text_cell(tr("all other kernels together"))
                                                   : name_cell(kernel.name)};
    for (auto const& ns : kernel.ns) cells.push_back(optional_time(ns));
    cells.push_back(exponent_cell(kernel.exponent));
    cells.push_back(measure_cell(kernel.calls.back(), ""));
    cells.push_back(kernel.ns.front() && kernel.ns.back() ? signed_cell(kernel.lost_ns)
                                                          : none_cell());
    table.row(std::move(cells));
  }

  table.searchable();
  std::string const how = how_computed(
      "A kernel belongs to the step in whose window it begins. "
      "Times are sums of durations, so kernels that overlap count twice. "
      "A dash means that the kernel does not occur there.");

  return section(
      "kernels", "Kernels",
      (table.size() > 0 ? table.html() + how : std::string()) + collectives_block(series));
}

std::string predictions_table(ScalingSeries const& series) {
  Table table("predictions-table", "Predictions for more devices");
  table.number("Devices");

  for (analyzer::ScalingFit const& fit : series.fits.fits) {
    table.number(fmt::format("{}, {}", model_label(fit.model), throughput_unit(series)));
    table.number("95 % interval", "For one more run").if_known();
  }

  for (uint64_t devices = series.points.front().devices; devices <= series.fits.farthest_devices;
       devices *= 2) {
    auto const n = static_cast<double>(devices);
    std::vector<Cell> cells = {count_cell(devices)};

    for (analyzer::ScalingFit const& fit : series.fits.fits) {
      Estimate const cost = fit.cost.predict(n);
      cells.push_back(plain_cell(series.throughput_at(n, cost.value)));
      if (!cost.low) {
        cells.push_back(none_cell());
        continue;
      }

      double const low = series.throughput_at(n, *cost.high),
                   high = series.throughput_at(n, *cost.low);
      cells.push_back(
          number_cell(fmt::format("{} … {}", plain_number(low), plain_number(high)), low));
    }
    table.row(std::move(cells));
  }

  return table.html();
}

std::string replayed_block(ScalingSeries const& series) {
  std::string const sentence = replayed_curve_text(series);
  if (sentence.empty()) return {};
  std::string const block = subheading("Replay") + paragraph(sentence);
  if (series.replayed->points.empty()) return block;

  Table table("replayed-table", "Steps that a replay predicts, and what was measured");
  table.number("Devices").number("Step, replayed").number("95 % interval").if_known();
  table.number("Step, measured").number("Error", "Replayed step / measured step − 1").if_known();
  table.number(throughput_unit(series)).number("Efficiency");

  for (analyzer::ReplayedPoint const& point : series.replayed->points) {
    Estimate const& step = point.step_ns;
    Cell const interval = step.low
                              ? number_cell(fmt::format("{} … {}", duration_cell(*step.low).html,
                                                        duration_cell(*step.high).html),
                                            *step.low)
                              : none_cell();
    Cell const error =
        point.error ? number_cell(signed_error(point.error), *point.error) : none_cell();
    table.row({count_cell(point.devices), duration_cell(step.value), interval,
               optional_time(measured_step_ns(series, point.devices)), error,
               plain_cell(replayed_throughput(series, point).value),
               share_cell(replayed_efficiency(series, point).value)});
  }

  std::string const how = how_computed(
      "A replay evaluates again what waited for what in the run, with the collectives of another "
      "number of devices. Its step is that of the run, times the change of the replayed one. "
      "The interval covers how much the steps of that run vary, and what the runs leave open "
      "about collectives. It does not cover that more devices have more slow ones among them.");
  return block + table.html() + how;
}

std::string fits_section(ScalingSeries const& series) {
  if (series.fits.fits.empty())
    return section("fits", "More devices",
                   empty_note("No model fits these runs.") + replayed_block(series));

  Table table("fits-table", "Models of the cost of a unit of work");
  table.text("Model").text("Result");
  table
      .number("Error",
              "Root mean square error when each number of devices is predicted from the others "
              "(leave-one-out)")
      .if_known();
  table.number("Scatter", "Deviation of the runs from the model").if_known();
  table
      .number("Pays off up to",
              "The largest number of devices up to which a doubling gives at least 1.5 times the "
              "throughput")
      .number("95 % interval")
      .if_known();

  for (size_t i = 0; i < series.fits.fits.size(); ++i) {
    analyzer::ScalingFit const& fit = series.fits.fits[i];
    Cell const interval = fit.pays_to_low && fit.pays_to_high
                              ? number_cell(scaling_limit_interval(fit),
                                            static_cast<double>(fit.pays_to_low->devices))
                              : none_cell();
    table.row(
        {text_cell(fmt::format("{}{}", model_label(fit.model),
                               series.fits.best == i ? tr(" (predicts best)") : "")),
         prose_cell(fit_text(fit)), share_cell(fit.loo_error), share_cell(fit.residual_share),
         number_cell(scaling_limit_number(fit.pays_to), static_cast<double>(fit.pays_to.devices)),
         interval});
  }

  std::string const how =
      "The models describe the device time of a unit of work, "
      "which is constant if scaling is perfect. Amdahl: c (1 + σ (n − 1)). "
      "Universal scalability law: c (1 + σ (n − 1) + κ n (n − 1)). "
      "Performance model normal form: "
      "c₀ + c₁ n^(i/j) log2^l n, with the exponents that best predict each number of "
      "devices from the others. "
      "The fit minimizes squared relative errors with coefficients of at least 0. "
      "The band is the 95 % prediction interval for one more run, "
      "according to the model that predicts best. "
      "Beyond the measured numbers of devices a model can miss effects that appear only "
      "there.";

  return section("fits", "More devices",
                 paragraph(scaling_limit_text(series)) +
                     chart("fits", "Efficiency, measured and modelled", how) + table.html() +
                     folded("Data as a table", predictions_table(series)) + replayed_block(series));
}

std::string runs_section(ScalingSeries const& series) {
  Table table("runs-table", "The runs");

  table.number("Devices").text("Run").number(
      "Steps", "Steady steps of all runs with this number of devices");
  table.number("Warm-up")
      .number("Slow start")
      .number("Outliers")
      .number("Incomplete", "Not steady on all devices");
  table.number("Copied in", "Per step and device");

  for (ScalingPoint const& point : series.points) {
    std::string names;
    for (std::string const& run : point.runs) names += (names.empty() ? "" : "<br>") + escape(run);

    table.row({count_cell(point.devices),
               {names, std::nullopt},
               count_cell(point.steps),
               count_cell(point.warmup_steps),
               count_cell(point.slow_start_steps),
               count_cell(point.outlier_steps),
               count_cell(point.incomplete_steps),
               point.copied_in_bytes > 0 ? bytes_cell(static_cast<uint64_t>(point.copied_in_bytes))
                                         : none_cell()});
  }

  return section("runs", "Runs", table.html());
}

}  // namespace

std::string scaling_html(ScalingSeries const& series, ReportOptions const& options) {
  ScopedLanguage const spoken(options.language);
  Document document;

  document.title = options.title.empty() ? tr("Scaling") : std::string_view(options.title);
  document.version = options.version;

  document.sections = {{"summary", "Verdict", verdict_section(series)},
                       {"speed", "Speed-up", speed_section(series)},
                       {"factors", "Factors", factors_section(series)},
                       {"loss", "Lost time", loss_section(series)},
                       {"parts", "Step", parts_section(series)},
                       {"kernels", "Kernels", growth_section(series)},
                       {"fits", "More devices", fits_section(series)},
                       {"runs", "Runs", runs_section(series)}};

  document.footer =
      "docs/guide/SCALING.md and docs/reference/DEFINITIONS.md define the numbers. "
      "Times are means over steady steps; the parts of a step sum to its length.";
  if (report_has_charts()) document.data = scaling_page_data(series);
  return html_document(document);
}

}  // namespace stepscope::reports
