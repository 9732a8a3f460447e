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
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Estimate;
using analyzer::LostTime;
using analyzer::ScalingPoint;
using analyzer::ScalingSeries;

/// Parts of less than this share of every step are left out of the table of parts: the JSON has them.
constexpr double kLeastRowShare = 0.0005;

Cell optional_time(std::optional<double> ns) { return ns ? duration_cell(*ns) : none_cell(); }
Cell plain_cell(double value) { return number_cell(plain_number(value), value); }
Cell exponent_cell(std::optional<double> exponent) {
  if (!exponent) return none_cell();
  double const shown_exponent = std::abs(*exponent) < 0.005 ? 0.0 : *exponent;
  return number_cell(fmt::format("{:.2f}", shown_exponent), *exponent);
}
/// A sentence: never narrower than a few words.
Cell prose_cell(std::string_view text) {
  return {fmt::format("<span class=\"prose\">{}</span>", escape(with_joined_units(text), 2000)), std::nullopt};
}
Cell signed_cell(double ns) { return number_cell(signed_duration(ns), ns); }
Cell interval_cell(Estimate const& estimate) {
  return estimate.low ? number_cell(share_interval(estimate), *estimate.low) : none_cell();
}
std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 4000)); }
std::string note_list(std::vector<std::string> const& lines, std::string_view title) {
  if (lines.empty()) return {};
  std::string items;
  for (std::string const& line : lines) items += fmt::format("<li>{}</li>", escape(with_joined_units(line), 2000));
  return fmt::format("<h3>{}</h3><ul>{}</ul>\n", escape(tr(title)), items);
}
std::string key_tile(std::string_view value, std::string_view label, std::string_view hint) {
  return fmt::format("<div class=\"tile\" title=\"{}\"><b>{}</b><span>{}</span></div>", escape(tr(hint)), escape(value),
                     escape(tr(label)));
}
void number_for_each_size(Table& table, ScalingSeries const& series, std::string_view hint = {}) {
  for (ScalingPoint const& point : series.points) table.number(devices_text(point.devices), hint);
}

std::string verdict_section(ScalingSeries const& series) {
  ScalingPoint const &first = series.points.front(), &last = series.points.back();
  std::string const most = devices_text(last.devices), least = devices_text(first.devices);
  std::string tiles = key_tile(base::format_share(last.efficiency.value), tr("efficiency on {}", most),
                               tr("Speed-up over {} / ideal speed-up", least));
  tiles += key_tile(plain_number(last.speedup.value) + " ×", tr("the work of {}", least),
                    tr("Ideal: {}", plain_number(static_cast<double>(last.devices) / static_cast<double>(first.devices))));
  tiles += key_tile(plain_number(last.throughput.value), tr("{} on {}", throughput_unit(series), most),
                    tr("On {}: {}", least, plain_number(first.throughput.value)));
  tiles += key_tile(base::format_share(last.factors.parallel), tr("of the time of {}: compute", most),
                    "Parallel efficiency: compute time / (devices × elapsed)");
  if (series.fits.best)
    tiles += key_tile(pay_off_number(series.fits.fits[*series.fits.best].pays_to), "devices, up to where doubling pays off",
                      tr("A doubling up to there gives {} times the work or more, by the model that predicts best",
                         analyzer::kLeastDoublingGain));
  std::string body = note_list(scaling_differences(series), tr("Not the same as on {}", least));
  body += fmt::format("<p class=\"verdict\">{}</p>\n", escape(with_joined_units(scaling_headline(series)), 4000));
  body += fmt::format("<div class=\"tiles\">{}</div>\n", tiles);
  body += paragraph(scaling_kind_text(series)) + paragraph(scaling_pay_off_text(series));
  return section("summary", "Verdict", body + note_list(scaling_notes(series), "What to know of these numbers"));
}

std::string speed_section(ScalingSeries const& series) {
  Table table("speed-table", "Throughput, speed-up and efficiency by number of devices");
  table.number("Devices")
      .number("Runs")
      .number("Steps", "Usual steps of all runs")
      .number("Step", "Mean over the runs of their means");
  table.number("±", "Half of the 95 % interval of the mean step, of it");
  table.number(throughput_unit(series)).number("Speed-up").number("Ideal");
  table.number("Efficiency", "Speed-up / ideal").number("95 % interval");
  double const first = static_cast<double>(series.points.front().devices);
  for (ScalingPoint const& point : series.points) {
    Cell const step_interval = point.step_ns.low ? number_cell(half_interval(point.step_ns),
                                                               (*point.step_ns.high - *point.step_ns.low) / point.step_ns.value)
                                                 : none_cell();
    table.row({count_cell(point.devices), count_cell(point.runs.size()), count_cell(point.steps),
               duration_cell(point.step_ns.value), step_interval, plain_cell(point.throughput.value),
               plain_cell(point.speedup.value), plain_cell(static_cast<double>(point.devices) / first),
               share_cell(point.efficiency.value), interval_cell(point.efficiency)});
  }
  std::string const how =
      "A step is the mean over the devices of its period, which no device's being last changes; warm-up, a slow start and "
      "outliers are "
      "left out. Error bars are 95 % intervals (Student's t): with several runs of a number of devices over the runs, with one "
      "over "
      "its steps, or over blocks of steps where these are alike. Of ratios they are those of the logarithm.";
  std::string body =
      "<div class=\"panels\"><div class=\"panel\">" + chart("speedup", "Speed-up, by number of devices", how) +
      "</div><div class=\"panel\">" +
      chart("efficiency", "Efficiency, by number of devices",
            "The speed-up over the fewest devices, divided by how many times as many devices there are. 100 % is ideal; "
            "more than that is possible where the parts of the work fit caches better.") +
      "</div></div>\n";
  return section("speed", "Speed-up and efficiency", body + table.html());
}

std::string factors_section(ScalingSeries const& series) {
  Table table("factors-table", "Factors of the efficiency by number of devices");
  table.text("Factor");
  number_for_each_size(table, series);
  auto const add = [&](FactorWords const& words, auto const& value) {
    std::vector<Cell> cells = {
        {fmt::format("<span title=\"{}\">{}</span>", escape(tr(words.meaning)), escape(tr(words.label))), std::nullopt}};
    for (ScalingPoint const& point : series.points) cells.push_back(share_cell(value(point)));
    table.row(std::move(cells));
  };
  add({"parallel efficiency", "compute time / (devices × elapsed): the product of the next three"},
      [](ScalingPoint const& point) { return point.factors.parallel; });
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
    add(factor_words(static_cast<analyzer::ScalingFactor>(f)),
        [f](ScalingPoint const& point) { return point.factors.by_factor[f]; });
  add({"efficiency", "parallel efficiency × computation scaling, over the parallel efficiency of the fewest devices"},
      [](ScalingPoint const& point) { return point.efficiency.value; });
  std::string body = paragraph(scaling_break_text(series));
  body += chart(
      "factors", "Where the devices' time goes, by number of devices",
      "The factors of POP and TALP, over the usual steps: load balance = Σ compute / (n · most compute of a device), "
      "communication efficiency = most compute / most busy time of a device, orchestration = most busy time / elapsed. Their "
      "product is the parallel efficiency, Σ compute / (n · elapsed). The bar shows it, and above it what each factor takes: "
      "1 − load balance, load balance × (1 − communication), and so on. Computation scaling compares the compute time that "
      "the same work takes; times the parallel efficiency it is the efficiency against the fewest devices, which the line "
      "shows.");
  return section("factors", "Factors", body + table.html());
}

std::string pair_text(ScalingSeries const& series, LostTime const& loss) {
  return fmt::format("{} → {}", series.points[loss.from].devices, series.points[loss.to].devices);
}

std::string loss_section(ScalingSeries const& series) {
  Table table("loss-table", "What a step takes more than its share of the work, split without rest");
  table.text("Part");
  for (LostTime const& loss : series.losses) table.number(pair_text(series, loss), "From so many devices to so many");
  table.text("Most of it", "From the fewest to the most devices");
  LostTime const& whole = series.losses[series.points.size() - 2];
  for (size_t p = 0; p < analyzer::kLostPartCount; ++p) {
    auto const part = static_cast<analyzer::LostPart>(p);
    if (std::all_of(series.losses.begin(), series.losses.end(), [p](LostTime const& loss) { return loss.parts_ns[p] == 0; }))
      continue;
    std::vector<Cell> cells = {{fmt::format("<span class=\"nw\" title=\"{}\">{}</span>", escape(lost_part_words(part).meaning),
                                            escape(lost_part_words(part).label)),
                                std::nullopt}};
    for (LostTime const& loss : series.losses) cells.push_back(signed_cell(static_cast<double>(loss.parts_ns[p])));
    std::string const reason = lost_part_reason(whole, part);
    cells.push_back(reason.empty() ? Cell{"", std::nullopt} : prose_cell(reason));
    table.row(std::move(cells));
  }
  std::vector<Cell> sums = {{fmt::format("<b>{}</b>", tr("lost in all")), std::nullopt}};
  for (LostTime const& loss : series.losses) sums.push_back(signed_cell(static_cast<double>(loss.step_ns - loss.ideal_ns)));
  sums.push_back({"", std::nullopt});
  table.row(std::move(sums));
  std::string const how =
      "What the mean step takes beyond the mean step of fewer devices times the share of the work (1 at weak scaling, fewer / "
      "more "
      "devices at strong scaling), split into the same differences of all its parts: they sum to it, to the nanosecond. Waiting "
      "is "
      "split by what made the late devices late: by compute is imbalance.";
  return section("loss", "Lost time", chart("loss", "Time a step loses against ideal, and to what", how) + table.html());
}

std::string parts_section(ScalingSeries const& series) {
  Table table("parts-table", "What a step is made of by number of devices");
  table.text("Part");
  number_for_each_size(table, series, "Mean step");
  table.number("Exponent of n", "Exponent by least squares of the logarithms; ideal: 0 at weak scaling, -1 at strong");
  for (size_t p = 0; p < analyzer::kStepPartCount; ++p) {
    bool const is_seen = std::any_of(series.points.begin(), series.points.end(), [p](ScalingPoint const& point) {
      return point.parts_ns[p] > kLeastRowShare * point.step_ns.value;
    });
    if (!is_seen) continue;
    std::vector<Cell> cells = {label_cell(step_part_label(static_cast<analyzer::StepPart>(p)))};
    for (ScalingPoint const& point : series.points) cells.push_back(duration_cell(point.parts_ns[p]));
    cells.push_back(exponent_cell(series.part_exponents[p]));
    table.row(std::move(cells));
  }
  return section(
      "parts", "Step",
      chart("step-parts", "What a step is made of, by number of devices",
            "The mean usual step, split without rest as in the report of a run. The mark is the ideal step: that of the "
            "fewest devices times the share of the work.") +
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
    std::vector<Cell> cells = {text_cell(model::to_string(row.op)), row.bytes > 0 ? bytes_cell(row.bytes) : none_cell()};
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
  table.number("Exponent of n", "Exponent by least squares of the logarithms; ideal: 0 at weak scaling, -1 at strong");
  table.number("Calls", "A step and device, on the most devices");
  table.number("Lost", "On the most devices, over the share of the work of what it takes on the fewest");
  for (analyzer::KernelGrowth const& kernel : series.kernels) {
    if (table.size() == kMaxTableRows) break;
    std::vector<Cell> cells = {kernel.name.empty() ? text_cell(tr("all others, which are not told apart everywhere"))
                                                   : name_cell(kernel.name)};
    for (auto const& ns : kernel.ns) cells.push_back(optional_time(ns));
    cells.push_back(exponent_cell(kernel.exponent));
    cells.push_back(measure_cell(kernel.calls.back(), ""));
    cells.push_back(kernel.ns.front() && kernel.ns.back() ? signed_cell(kernel.lost_ns) : none_cell());
    table.row(std::move(cells));
  }
  table.searchable();
  std::string const how = how_computed(
      "A kernel belongs to the step in whose window it begins. Times are sums of durations, so kernels that run side by side "
      "count "
      "twice. A dash: the kernel does not occur there.");
  return section("kernels", "Kernels", (table.size() > 0 ? table.html() + how : std::string()) + collectives_block(series));
}

std::string predictions_table(ScalingSeries const& series) {
  Table table("predictions-table", "What the models say of more devices");
  table.number("Devices");
  for (analyzer::ScalingFit const& fit : series.fits.fits) {
    table.number(fmt::format("{}, {}", model_label(fit.model), throughput_unit(series)));
    table.number("95 % interval", "Of a further run").if_known();
  }
  for (uint64_t devices = series.points.front().devices; devices <= series.fits.farthest_devices; devices *= 2) {
    auto const n = static_cast<double>(devices);
    std::vector<Cell> cells = {count_cell(devices)};
    for (analyzer::ScalingFit const& fit : series.fits.fits) {
      Estimate const cost = fit.cost.predict(n);
      cells.push_back(plain_cell(series.throughput_at(n, cost.value)));
      if (!cost.low) {
        cells.push_back(none_cell());
        continue;
      }
      double const low = series.throughput_at(n, *cost.high), high = series.throughput_at(n, *cost.low);
      cells.push_back(number_cell(fmt::format("{} … {}", plain_number(low), plain_number(high)), low));
    }
    table.row(std::move(cells));
  }
  return table.html();
}

std::string fits_section(ScalingSeries const& series) {
  if (series.fits.fits.empty()) return section("fits", "More devices", empty_note("No model fits these runs."));
  Table table("fits-table", "Models of what a unit of work costs");
  table.text("Model").text("What it says");
  table.number("Error", "Each number of devices predicted from the others (leave-one-out), root mean square").if_known();
  table.number("Scatter", "Of the runs about the model").if_known();
  table.number("Pays off up to", "The most devices to which a doubling gives 1.5 times the work or more")
      .number("95 % interval")
      .if_known();
  for (size_t i = 0; i < series.fits.fits.size(); ++i) {
    analyzer::ScalingFit const& fit = series.fits.fits[i];
    Cell const interval = fit.pays_to_low && fit.pays_to_high
                              ? number_cell(pay_off_interval(fit), static_cast<double>(fit.pays_to_low->devices))
                              : none_cell();
    table.row({text_cell(fmt::format("{}{}", model_label(fit.model), series.fits.best == i ? tr(" (predicts best)") : "")),
               prose_cell(fit_text(fit)), share_cell(fit.loo_error), share_cell(fit.residual_share),
               number_cell(pay_off_number(fit.pays_to), static_cast<double>(fit.pays_to.devices)), interval});
  }
  std::string const how =
      "Modelled is the device time that a unit of work costs, which is the same for all numbers of devices where scaling is "
      "perfect. "
      "Amdahl: c (1 + σ (n − 1)). Universal scalability law: c (1 + σ (n − 1) + κ n (n − 1)). Performance model normal form: c₀ "
      "+ c₁ "
      "n^(i/j) log2^l n with the exponents that predict each number of devices from the others best. Least squares of relative "
      "errors, "
      "coefficients not negative. The band is the 95 % prediction interval of a further run, by the model that predicts best; "
      "beyond "
      "what was measured nothing guards a model against what shows only there.";
  return section("fits", "More devices",
                 paragraph(scaling_pay_off_text(series)) + chart("fits", "Efficiency, measured and modelled", how) +
                     table.html() + folded("Data as a table", predictions_table(series)));
}

std::string runs_section(ScalingSeries const& series) {
  Table table("runs-table", "The runs");
  table.number("Devices").text("Run").number("Steps", "Usual steps of all runs of so many devices");
  table.number("Warm-up").number("Slow start").number("Outliers").number("Incomplete", "Not usual on all devices");
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
               point.copied_in_bytes > 0 ? bytes_cell(static_cast<uint64_t>(point.copied_in_bytes)) : none_cell()});
  }
  return section("runs", "Runs", table.html());
}

}  // namespace

std::string scaling_html(ScalingSeries const& series, ReportOptions const& options) {
  ScopedLanguage const spoken(options.language);
  Document document;
  document.title = options.title.empty() ? tr("Scaling") : std::string_view(options.title);
  document.version = options.version;
  document.sections = {{"summary", "Verdict", verdict_section(series)}, {"speed", "Speed-up", speed_section(series)},
                       {"factors", "Factors", factors_section(series)}, {"loss", "Lost time", loss_section(series)},
                       {"parts", "Step", parts_section(series)},        {"kernels", "Kernels", growth_section(series)},
                       {"fits", "More devices", fits_section(series)},  {"runs", "Runs", runs_section(series)}};
  document.footer =
      "What the numbers mean: docs/guide/SCALING.md and docs/reference/DEFINITIONS.md. Times are means over usual steps; the "
      "parts of a step sum "
      "to it.";
  if (report_has_charts()) document.data = scaling_page_data(series);
  return html_document(document);
}

}  // namespace stepscope::reports
