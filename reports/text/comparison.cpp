#include "reports/text/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "reports/text/layout.h"
#include "reports/words/kernel_label.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::ChangePart;
using analyzer::Comparison;
using analyzer::Metric;
using analyzer::MetricFamily;
using analyzer::Verdict;

/// Kernels and collectives beyond are in the JSON.
constexpr size_t kMostChangedRows = 8;
constexpr size_t kMostDifferenceLines = 8;
/// Parts of less than this share of the base's step are summed up.
constexpr double kLeastPartShare = 0.001;
constexpr size_t kMostKernelColumns = 48;

std::string side_text(analyzer::SideStats const& side) {
  std::string name = side.runs.size() == 1 ? shown(side.runs.front(), 60)
                                           : base::format_count(side.runs.size(), "run");
  if (name.empty()) name = "run";
  return fmt::format("{} ({})", name, base::format_count(side.steps, "step"));
}

std::string differences_text(Comparison const& comparison, Paint const& paint, int width) {
  if (comparison.differences.empty()) return {};
  std::string text = "\n" + paint.bold("Not the same on both sides") + "\n";
  size_t const listed = std::min(comparison.differences.size(), kMostDifferenceLines);
  for (size_t i = 0; i < listed; ++i)
    text += wrapped(difference_text(comparison.differences[i]), width, "  - ", "    ");
  if (listed < comparison.differences.size())
    text +=
        fmt::format("  … and {} more (--json has all)\n", comparison.differences.size() - listed);
  return text;
}

std::string why_text(Comparison const& comparison, Paint const& paint, int width) {
  std::vector<size_t> order(analyzer::kChangePartCount);
  std::iota(order.begin(), order.end(), size_t{0});
  auto const& parts = comparison.parts_ns;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(parts[a]) > std::abs(parts[b]); });

  auto const least = kLeastPartShare * static_cast<double>(comparison.base.mean_ns);
  int64_t rest = 0;
  size_t rest_count = 0;
  std::string lines;

  for (size_t const i : order) {
    if (std::abs(static_cast<double>(parts[i])) < std::max(least, 1.0)) {
      rest += parts[i];
      rest_count += parts[i] != 0 ? 1 : 0;
      continue;
    }

    auto const part = static_cast<ChangePart>(i);
    std::string const reason = change_part_reason(comparison, part);
    lines +=
        wrapped(fmt::format("{}{}{}", change_part_label(part, parts[i]), reason.empty() ? "" : ": ",
                            reason),
                width, fmt::format("  {:>10}  ", signed_duration(static_cast<double>(parts[i]))),
                "              ");
  }

  if (rest_count > 0)
    lines += fmt::format("  {:>10}  {}\n", signed_duration(static_cast<double>(rest)),
                         lines.empty() ? "everything" : "everything else");
  if (lines.empty()) return {};

  double const change = static_cast<double>(comparison.candidate.mean_ns - comparison.base.mean_ns);
  return "\n" +
         heading_text(fmt::format("Why: exact breakdown of the {} of the mean step",
                                  signed_duration(change)),
                      paint) +
         lines;
}

std::string amount(Metric const& metric, double value) {
  if (metric.family == MetricFamily::kMemory)
    return base::format_bytes(static_cast<uint64_t>(std::clamp(value, 0.0, 1e18)));
  return base::format_duration(std::llround(std::clamp(value, -9e18, 9e18)));
}

/// Where the typical number is the same or changed the other way, and yet its mean is not.
std::string shown_verdict(Metric const& metric, double least_share) {
  analyzer::Change const& change = metric.change;
  double const of_mean = std::abs(change.candidate_mean - change.base_mean);
  if (metric.verdict == Verdict::kSame && of_mean > least_share * change.base_mean)
    return of_mean > metric.least ? "few steps" : "too small";
  bool const is_sure = change.p < analyzer::kMetricError;
  if (is_sure && analyzer::has_opposed_mean(change, metric.least)) return "few steps";
  return std::string(verdict_word(metric));
}

/// The change and its interval: of the base, where that is not nothing.
std::vector<std::string> metric_row(Metric const& metric, double least_share) {
  analyzer::Change const& change = metric.change;
  std::string interval = "–";

  if (change.method != analyzer::CompareMethod::kNone) {
    auto const [low, high] = shown_bounds(change);
    interval = change.base_mean > 0
                   ? fmt::format("{} … {}", signed_share(low, change.base_mean),
                                 signed_share(high, change.base_mean))
                   : fmt::format("{} … {}", signed_duration(low), signed_duration(high));
    // A blank where there is no mark: the numbers stand below each other.
    interval += is_mean_outside(change) ? kTypicalMark : " ";
  }

  return {metric_label(metric),
          amount(metric, change.base_mean),
          amount(metric, change.candidate_mean),
          signed_share(change.candidate_mean - change.base_mean, change.base_mean),
          interval,
          shown_verdict(metric, least_share)};
}

std::vector<std::string> metric_heading(std::string name) {
  return {std::move(name), "base", "new", "change", "95 % interval", "verdict"};
}

/// Parts that are a share of the step worth a line.
bool is_shown(Comparison const& comparison, Metric const& metric) {
  if (metric.family == MetricFamily::kStep || metric.family == MetricFamily::kMemory) return true;
  if (metric.family != MetricFamily::kPart) return false;
  double const least = 5 * kLeastPartShare * comparison.step().change.base_mean;
  return metric.change.base_mean >= least || metric.change.candidate_mean >= least;
}

std::string numbers_text(Comparison const& comparison, Paint const& paint) {
  std::vector<std::vector<std::string>> rows = {metric_heading("per step")};
  for (Metric const& metric : comparison.metrics)
    if (is_shown(comparison, metric)) rows.push_back(metric_row(metric, comparison.least_share));
  return "\n" + aligned(rows, paint);
}

std::string findings_text(Comparison const& comparison, Paint const& paint, int width) {
  auto const rows = finding_rows(comparison);
  if (rows.empty()) return {};
  std::string const promise = promise_text(comparison);
  return "\n" + aligned(rows, paint) + (promise.empty() ? "" : wrapped(promise, width, "  ", "  "));
}

/// Below the tables, where an interval has the mark.
std::string typical_note(Comparison const& comparison, int width) {
  bool const has_mark =
      std::any_of(comparison.metrics.begin(), comparison.metrics.end(), [&](Metric const& metric) {
        bool const has_changed =
            metric.verdict == Verdict::kLess || metric.verdict == Verdict::kMore;
        return is_mean_outside(metric.change) && (has_changed || is_shown(comparison, metric));
      });
  return has_mark ? "\n" + wrapped(kTypicalNote, width, "  ", "  ") : "";
}

/// Metrics that changed; all others are only counted.
std::string changed_text(Comparison const& comparison, MetricFamily family,
                         std::string const& heading, Paint const& paint) {
  std::vector<Metric const*> changed;
  size_t same = 0, unclear = 0;
  for (Metric const& metric : comparison.metrics) {
    if (metric.family != family) continue;
    if (metric.verdict == Verdict::kLess || metric.verdict == Verdict::kMore)
      changed.push_back(&metric);
    same += metric.verdict == Verdict::kSame ? 1 : 0;
    unclear += metric.verdict == Verdict::kUnclear ? 1 : 0;
  }
  if (changed.empty() && same + unclear == 0) return {};

  // What changes the step most first.
  auto const size = [&](Metric const* metric) {
    for (auto const& kernel : comparison.kernels)
      if (family == MetricFamily::kKernel && kernel.name == metric->name)
        return std::abs(kernel.speed_ns);
    return std::abs(metric->change.shift.estimate);
  };

  std::vector<std::pair<double, Metric const*>> order;
  for (Metric const* metric : changed) order.emplace_back(size(metric), metric);
  std::stable_sort(order.begin(), order.end(),
                   [](auto const& a, auto const& b) { return a.first > b.first; });

  std::string text = "\n";
  if (!changed.empty()) {
    std::vector<std::vector<std::string>> rows = {metric_heading(heading)};
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(order.size(), kMostChangedRows); ++i) {
      rows.push_back(metric_row(*order[i].second, comparison.least_share));
      names.push_back(order[i].second->name);
    }

    auto const labels = kernel_labels(names, kMostNameColumns);
    for (size_t i = 0; i < names.size() && family == MetricFamily::kKernel; ++i)
      if (!names[i].empty()) rows[i + 1][0] = labels[i];
    text += aligned(rows, paint);
  }

  text += wrapped(fmt::format("{}: {} changed, {} the same, {} unclear", heading, changed.size(),
                              same, unclear),
                  std::max(paint.width, kLeastWidth), "  ", "  ");
  return text;
}

/// For programs without a device. Shows means, since a recording has no other value per range.
std::string ranges_text(Comparison const& comparison, Paint const& paint) {
  std::vector<std::vector<std::string>> rows = {
      {"own time of a range, a step", "base", "new", "change"}};

  for (analyzer::RangeChange const& range : comparison.ranges) {
    if (rows.size() > kMostChangedRows) break;
    double const change = range.candidate_ns - range.base_ns;
    if (std::abs(change) < std::max(1.0, kLeastPartShare * comparison.step().change.base_mean))
      continue;

    rows.push_back({shown(range.name, kMostKernelColumns),
                    base::format_duration(std::llround(range.base_ns)),
                    base::format_duration(std::llround(range.candidate_ns)),
                    signed_share(change, range.base_ns)});
  }

  return rows.size() == 1 ? std::string() : "\n" + aligned(rows, paint);
}

std::string only_on_one_side(Comparison const& comparison, analyzer::KernelChange::Where where,
                             std::string_view heading, int width) {
  bool const is_new = where == analyzer::KernelChange::Where::kNew;
  std::vector<analyzer::KernelChange const*> kernels;
  std::vector<std::string> names;
  double ns = 0;
  for (analyzer::KernelChange const& kernel : comparison.kernels) {
    if (kernel.where != where) continue;
    kernels.push_back(&kernel);
    if (names.size() < kMostChangedRows) names.push_back(kernel.name);
    ns += is_new ? kernel.candidate_ns : kernel.base_ns;
  }

  constexpr size_t kIndent = 15;  // and the sign that a name was cut
  auto const labels =
      kernel_labels(names, std::min(2 * kMostKernelColumns, static_cast<size_t>(width) - kIndent));
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) {
    analyzer::KernelChange const& kernel = *kernels[i];
    double const calls = is_new ? kernel.candidate_calls : kernel.base_calls;
    double const of_kernel = is_new ? kernel.candidate_ns : kernel.base_ns;
    text +=
        wrapped(fmt::format("{} ({} {})", labels[i], base::format_significant(calls, 4),
                            calls == 1 ? "call" : "calls"),
                width, fmt::format("  {:>10}  ", base::format_duration(std::llround(of_kernel))),
                "              ");
  }

  size_t const count = kernels.size();
  if (count == 0) return {};
  if (count > kMostChangedRows)
    text += fmt::format("  … and {} more (--json has all)\n", count - kMostChangedRows);
  return "\n" +
         wrapped(fmt::format("{}: {}, {} a step", heading, base::format_count(count, "kernel"),
                             base::format_duration(std::llround(ns))),
                 width, "", "") +
         text;
}

}  // namespace

std::string comparison_text(Comparison const& comparison, TextOptions const& options) {
  Paint const paint{options.color, options.width};
  int const width = std::max(options.width, kLeastWidth);
  using Where = analyzer::KernelChange::Where;

  std::string text = wrapped(fmt::format("base {}  →  new {}", side_text(comparison.base),
                                         side_text(comparison.candidate)),
                             width, "", "  ");
  text += differences_text(comparison, paint, width);
  text += "\n" + wrapped(headline(comparison), width, "", "");

  text += why_text(comparison, paint, width);
  text += findings_text(comparison, paint, width);
  text += numbers_text(comparison, paint);
  text += ranges_text(comparison, paint);
  text += changed_text(comparison, MetricFamily::kKernel, "time of a kernel call", paint);
  text += only_on_one_side(comparison, Where::kNew, "Only on the new side", width);
  text += only_on_one_side(comparison, Where::kVanished, "Only on the base", width);
  text += changed_text(comparison, MetricFamily::kCollective, "transfer of a collective", paint);
  text += typical_note(comparison, width);

  std::vector<std::string> const notes = comparison_notes(comparison);
  if (!notes.empty()) text += "\n";
  for (std::string const& note : notes) text += wrapped(note, width, "  - ", "    ");
  return text;
}

}  // namespace stepscope::reports
