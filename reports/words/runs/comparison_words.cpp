#include "reports/words/runs/comparison_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/words/kernel_label.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Caveat;
using analyzer::ChangePart;
using analyzer::Comparison;
using analyzer::KernelChange;
using analyzer::Metric;
using analyzer::MetricFamily;
using analyzer::Verdict;

/// What explains less of a part than this does not explain it.
constexpr double kLeastExplained = 0.1;

/// What a part of the change is where it makes steps longer, and where it makes them shorter.
struct ChangeLabel {
  std::string_view more, less;
};
constexpr std::array<ChangeLabel, 8> kChangeLabels = {{
    {"kernels are slower", "kernels are faster"},
    {"more kernel calls", "fewer kernel calls"},
    {"new kernels", "new kernels"},
    {"kernels that no longer run", "kernels that no longer run"},
    {"kernels overlap each other less", "kernels overlap each other more"},
    {"more exposed transfers", "less exposed transfers"},
    {"more waiting for peers", "less waiting for peers"},
    {"more exposed copies", "less exposed copies"},
}};

std::string kernel_name(std::string const& name) {
  return name.empty() ? std::string(tr("further kernels")) : kernel_label(name, kMostNameColumns);
}

/// The time that a kernel contributes to a part.
double share_in(KernelChange const& kernel, ChangePart part) {
  switch (part) {
    case ChangePart::kKernelSpeed:
      return kernel.where == KernelChange::Where::kBoth ? kernel.speed_ns : 0;
    case ChangePart::kKernelCalls:
      return kernel.where == KernelChange::Where::kBoth ? kernel.calls_ns : 0;
    case ChangePart::kNewKernels:
      return kernel.where == KernelChange::Where::kNew ? kernel.candidate_ns : 0;
    case ChangePart::kVanishedKernels:
      return kernel.where == KernelChange::Where::kVanished ? -kernel.base_ns : 0;
    default:
      return 0;
  }
}

std::string kernel_reason(Comparison const& comparison, ChangePart part, double part_ns) {
  KernelChange const* most = nullptr;
  double most_ns = 0;
  size_t kernels = 0;

  for (KernelChange const& kernel : comparison.kernels) {
    double const ns = share_in(kernel, part);
    if (ns == 0) continue;
    ++kernels;
    if ((ns > 0) == (part_ns > 0) && std::abs(ns) > std::abs(most_ns)) {
      most = &kernel;
      most_ns = ns;
    }
  }

  if (most == nullptr || std::abs(most_ns) < kLeastExplained * std::abs(part_ns)) return {};
  std::string text = fmt::format("{} {}", signed_duration(most_ns), kernel_name(most->name));
  if (part == ChangePart::kKernelSpeed && most->base_calls > 0 && most->candidate_calls > 0) {
    double const base = most->base_ns / most->base_calls,
                 candidate = most->candidate_ns / most->candidate_calls;
    text += tr(" ({} a call)", signed_share(candidate - base, base));
  }

  if (part == ChangePart::kKernelCalls)
    text += tr(" ({} → {} calls)", base::format_significant(most->base_calls, 4),
               base::format_significant(most->candidate_calls, 4));
  if (kernels > 1) text += tr(" and {}", counted(kernels - 1, "other kernel"));

  return text;
}

/// Label for a result of analyzer::cause_of().
std::string_view cause_label(std::string_view cause) {
  if (cause == "comm") return tr("communication");
  if (cause == "copy") return tr("copies");
  for (int i = 0; i < kPartCount; ++i)
    if (part(i).key == cause) return part(i).label;
  return tr("reason unknown");
}

/// The late devices that changed most, the way of the part.
std::string late_reason(Comparison const& comparison, double part_ns) {
  constexpr size_t kMost = 3;
  std::vector<analyzer::LateChange const*> largest;
  for (analyzer::LateChange const& late : comparison.late) {
    double const change = late.candidate_ns - late.base_ns;
    if ((change > 0) == (part_ns > 0) && std::abs(change) >= kLeastExplained * std::abs(part_ns))
      largest.push_back(&late);
  }
  std::stable_sort(largest.begin(), largest.end(), [](auto const* a, auto const* b) {
    return std::abs(a->candidate_ns - a->base_ns) > std::abs(b->candidate_ns - b->base_ns);
  });
  if (largest.size() > kMost) largest.resize(kMost);

  std::string text;
  for (analyzer::LateChange const* const late : largest) {
    text += text.empty() ? "" : tr("; ");
    text += lateness_text(*late, cause_label(late->cause), kMostNameColumns);
  }
  return text;
}

std::string host_reason(Comparison const& comparison, analyzer::IdleCause cause, double part_ns) {
  analyzer::HostOpChange const* most = nullptr;
  for (auto const& op : comparison.host_ops)
    if (op.cause == cause && (op.candidate_ns > op.base_ns) == (part_ns > 0) &&
        (most == nullptr ||
         std::abs(op.candidate_ns - op.base_ns) > std::abs(most->candidate_ns - most->base_ns)))
      most = &op;

  if (most == nullptr ||
      std::abs(most->candidate_ns - most->base_ns) < kLeastExplained * std::abs(part_ns))
    return {};

  return tr("{} in “{}”", signed_duration(most->candidate_ns - most->base_ns),
            shown(most->name, kMostNameColumns));
}

/// For programs without a device.
std::string range_reason(Comparison const& comparison, bool waits, double part_ns) {
  analyzer::RangeChange const* most = nullptr;
  auto const change = [](analyzer::RangeChange const& range) {
    return range.candidate_ns - range.base_ns;
  };

  for (auto const& range : comparison.ranges)
    if (range.waits == waits && (change(range) > 0) == (part_ns > 0) &&
        (most == nullptr || std::abs(change(range)) > std::abs(change(*most))))
      most = &range;

  if (most == nullptr || std::abs(change(*most)) < kLeastExplained * std::abs(part_ns)) return {};
  return tr("{} in “{}”", signed_duration(change(*most)), shown(most->name, kMostNameColumns));
}

std::string_view condition_label(analyzer::Condition condition) {
  using analyzer::Condition;

  switch (condition) {
    case Condition::kDevice:
      return "device";
    case Condition::kDeviceCount:
      return "number of devices";
    case Condition::kProcesses:
      return "number of processes";
    case Condition::kHost:
      return "machine";

    case Condition::kFact:
      return "fact";
    case Condition::kCommand:
      return "command";
    case Condition::kTool:
      return "recorded by";

    case Condition::kClock:
      return "SM clock while busy";
    case Condition::kCopiedIn:
      return "copied to the devices per step (batch size?)";
    case Condition::kStepSource:
      return "source of the steps";
    case Condition::kStepNumbers:
      return "steps";
  }
  return {};
}

/// The value of a condition that is a number.
std::string condition_number(analyzer::Condition condition, double number) {
  if (condition == analyzer::Condition::kClock) return fmt::format("{:.0f} MHz", number);
  return base::format_bytes(static_cast<uint64_t>(std::max(0.0, std::min(number, 1e18))));
}

/// Why the verdict on the step is open.
std::string why_unclear(Comparison const& comparison) {
  analyzer::Change const& change = comparison.step().change;
  double const least = comparison.step().least;
  bool const is_far = change.shift.low > least || change.shift.high < -least;
  if (is_far && change.p >= analyzer::kMetricError)
    return fmt::format(
        "which may be chance: p is {:.4f}, and less than {} is needed. Record more runs", change.p,
        analyzer::kMetricError);

  if (analyzer::has_opposed_mean(change, least))
    return "and typical ones changed the other way than the mean: look at the few that differ "
           "(stepscope analyze)";

  return fmt::format("which is not enough to decide whether it changed by {} or more",
                     base::format_share(comparison.least_share));
}

}  // namespace

std::optional<ChangePart> largest_part(Comparison const& comparison) {
  auto const& parts = comparison.parts_ns;
  int64_t const change = comparison.candidate.mean_ns - comparison.base.mean_ns;
  size_t largest = 0;
  auto const along = [&](size_t i) { return change < 0 ? -parts[i] : parts[i]; };
  for (size_t i = 1; i < parts.size(); ++i)
    if (along(i) > along(largest)) largest = i;
  return along(largest) > 0 ? std::optional(static_cast<ChangePart>(largest)) : std::nullopt;
}

std::string lateness_text(analyzer::LateChange const& late, std::string_view cause,
                          size_t most_name_bytes) {
  double const change = late.candidate_ns - late.base_ns;
  std::string const who =
      late.device == 0 ? tr("rank {}", late.rank) : tr("rank {} device {}", late.rank, late.device);
  std::string why(cause);
  if (!late.host_op.empty()) why += ": " + shown(late.host_op, most_name_bytes);
  return change > 0 ? tr("{} since {} comes later ({})", signed_duration(change), who, why)
                    : tr("{} since {} comes earlier ({})", signed_duration(change), who, why);
}

std::string signed_duration(double ns) {
  int64_t const whole = std::llround(std::clamp(ns, -9e18, 9e18));
  return (whole < 0 ? "-" : "+") + base::format_duration(std::abs(whole));
}

std::string signed_share(double change, double of) {
  if (of <= 0) return change > 0 ? "new" : "–";
  if (!std::isfinite(change)) return change < 0 ? "-∞" : "+∞";
  double const percent = change / of * 100;
  if (std::abs(percent) >= 999.5) return "×" + base::format_significant(1 + change / of, 3);
  if (std::abs(percent) < 0.05) return "0.0 %";
  return fmt::format("{:+.1f} %", percent);
}

std::pair<double, double> shown_bounds(analyzer::Change const& change) {
  if (change.base_mean <= 0) return {change.shift.low, change.shift.high};
  return {std::max(change.shift.low, -change.base_mean),
          std::max(change.shift.high, -change.base_mean)};
}

bool is_mean_outside(analyzer::Change const& change) {
  // What the numbers show, with one decimal of a percent.
  double const of_mean = change.candidate_mean - change.base_mean,
               shown = 0.0005 * change.base_mean;
  auto const [low, high] = shown_bounds(change);
  return change.method != analyzer::CompareMethod::kNone &&
         (of_mean < low - shown || of_mean > high + shown);
}

std::string interval_text(analyzer::Change const& change) {
  auto const [low, high] = shown_bounds(change);
  return fmt::format("{} to {}", signed_share(low, change.base_mean),
                     signed_share(high, change.base_mean));
}

std::string interval_words(analyzer::Change const& change) {
  if (change.method == analyzer::CompareMethod::kNone) return "";
  std::string const interval = interval_text(change);
  if (!is_mean_outside(change)) return "95 % interval " + interval;
  constexpr std::array kUnits = {"step", "step", "run", "pair"};
  return fmt::format("95 % interval of a typical {0} {1}; a few {0}s moved the mean",
                     kUnits[static_cast<size_t>(change.unit)], interval);
}

std::string_view verdict_word(Metric const& metric) {
  return verdict_word(metric.verdict, metric.family);
}

std::string_view verdict_word(Verdict verdict, MetricFamily family) {
  bool const is_size = family == MetricFamily::kMemory || family == MetricFamily::kPart;
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kLess:
      return is_size ? "less" : "faster";
    case Verdict::kMore:
      return is_size ? "more" : "slower";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

std::string metric_label(Metric const& metric) {
  switch (metric.family) {
    case MetricFamily::kStep:
      return "step";

    case MetricFamily::kPart:
      if (metric.name == analyzer::to_string(analyzer::StepPart::kWaiting))
        return "waiting for peers";
      if (metric.name == analyzer::to_string(analyzer::StepPart::kCommunication))
        return "exposed transfers";
      if (metric.name == analyzer::to_string(analyzer::StepPart::kCopies)) return "exposed copies";
      if (metric.name == analyzer::to_string(ChangePart::kHostWork)) return "host work";
      if (metric.name == analyzer::to_string(ChangePart::kHostInput)) return "waiting for data";
      for (int i = 0; i < kPartCount; ++i)
        if (part(i).key == metric.name)
          return (part(i).idle ? "idle: " : "") + std::string(part(i).label);
      return metric.name;

    case MetricFamily::kMemory:
      return "peak memory " + metric.name;
    case MetricFamily::kKernel:
      return kernel_name(metric.name);
    case MetricFamily::kCollective:
      return metric.bytes == 0
                 ? metric.name
                 : fmt::format("{} of {}", metric.name, base::format_bytes(metric.bytes));
  }
  return metric.name;
}

std::string change_part_label(ChangePart part_of_change, int64_t ns) {
  if (part_of_change == ChangePart::kHostWork) return ns < 0 ? "less host work" : "more host work";
  if (part_of_change == ChangePart::kHostInput)
    return ns < 0 ? "less waiting for data" : "more waiting for data";
  auto const index = static_cast<size_t>(part_of_change);
  if (index < kChangeLabels.size())
    return std::string(ns < 0 ? kChangeLabels[index].less : kChangeLabels[index].more);
  return fmt::format("{} idle time: {}", ns < 0 ? "less" : "more",
                     part(static_cast<int>(index - kChangeLabels.size()) + 3).label);
}

std::string change_part_reason(Comparison const& comparison, ChangePart part_of_change) {
  auto const index = static_cast<size_t>(part_of_change);
  auto const ns = static_cast<double>(comparison.parts_ns[index]);
  if (ns == 0) return {};

  if (index <= static_cast<size_t>(ChangePart::kVanishedKernels))
    return kernel_reason(comparison, part_of_change, ns);
  if (part_of_change == ChangePart::kHostWork || part_of_change == ChangePart::kHostInput)
    return range_reason(comparison, part_of_change == ChangePart::kHostInput, ns);

  if (part_of_change == ChangePart::kWaiting) return late_reason(comparison, ns);
  if (index < kChangeLabels.size()) return {};
  return host_reason(comparison, static_cast<analyzer::IdleCause>(index - kChangeLabels.size()),
                     ns);
}

/// "-33.8 ms (-24.3 % of its time, 32.1 % faster)": a gain is in the unit of every predicted one.
std::string step_change_text(Metric const& step) {
  double const base = step.change.base_mean, candidate = step.change.candidate_mean;
  std::string const share = signed_share(candidate - base, base);
  bool const has_gain = step.verdict == Verdict::kLess && candidate > 0 && candidate < base;
  return fmt::format("{} ({})", signed_duration(candidate - base),
                     has_gain ? share + " of its time, " + gain_text(base / candidate - 1) : share);
}

/// Why a change that counts is no chance; empty where nothing was tested.
std::string significance_text(analyzer::Change const& change) {
  if (change.method == analyzer::CompareMethod::kNone) return {};
  std::string const p = change.p < 1e-4 ? "p < 0.0001" : fmt::format("p = {:.4f}", change.p);
  return fmt::format(" Significant: {}, {}.", p, interval_words(change));
}

std::string headline(Comparison const& comparison) {
  if (comparison.verdict != comparison.step().verdict) {
    double cost = 0;
    for (auto const& caveat : comparison.caveats)
      if (caveat.caveat == Caveat::kOutliers) cost = caveat.ns;
    return fmt::format(
        "UNCLEAR: "
        "the steady step takes {}, before {}, but the steps that were left out (outliers, "
        "slow start) cost {} a step more than before, on average over all steps. "
        "They are few: record more steps, or look at them (stepscope analyze).",
        base::format_duration(comparison.candidate.mean_ns),
        base::format_duration(comparison.base.mean_ns), base::format_duration(std::llround(cost)));
  }

  Metric const& step = comparison.step();
  auto const duration = [](int64_t ns) { return base::format_duration(ns); };
  std::string const base = duration(comparison.base.mean_ns),
                    candidate = duration(comparison.candidate.mean_ns);
  std::string const by = step_change_text(step);
  std::string const interval = interval_words(step.change);
  std::string const sure = interval.empty() ? "" : "; " + interval;

  std::string text;
  switch (step.verdict) {
    case Verdict::kMore:
    case Verdict::kLess:
      text = fmt::format("{}: a step takes {} instead of {}, {}.{}",
                         step.verdict == Verdict::kMore ? "SLOWER" : "FASTER", candidate, base, by,
                         significance_text(step.change));
      break;
    case Verdict::kSame:
      return fmt::format(
          "SAME: a step takes {}, before {}{}. Changes of less than {} do not count.", candidate,
          base, sure, base::format_share(comparison.least_share));
    case Verdict::kUnclear:
      text = fmt::format("UNCLEAR: a step takes {}, before {}, {}{}, {}.", candidate, base, by,
                         sure, why_unclear(comparison));
      break;
  }

  return step.verdict == Verdict::kUnclear ? text : text + largest_part_sentence(comparison);
}

std::string largest_part_sentence(Comparison const& comparison) {
  auto const largest = largest_part(comparison);
  if (!largest) return {};
  int64_t const ns = comparison.parts_ns[static_cast<size_t>(*largest)];
  return fmt::format(" Most of it: {} ({}).", change_part_label(*largest, ns),
                     signed_duration(static_cast<double>(ns)));
}

std::string difference_text(analyzer::Difference const& difference) {
  auto const side = [&](std::optional<double> number, std::string const& text) {
    if (number) return condition_number(difference.condition, *number);
    return text.empty() ? std::string("–") : shown(text, 160);
  };
  std::string const label = difference.condition == analyzer::Condition::kFact
                                ? shown(difference.name, kMostNameColumns)
                                : std::string(tr(condition_label(difference.condition)));
  return fmt::format("{}: {} → {}", label, side(difference.base_number, difference.base),
                     side(difference.candidate_number, difference.candidate));
}

std::string refusal_text(Comparison const& comparison) {
  std::string const run = shown(comparison.refused_run, 200);

  switch (comparison.refusal.value_or(analyzer::Refusal::kNoRun)) {
    case analyzer::Refusal::kNoRun:
      break;
    case analyzer::Refusal::kNoSteps:
      return fmt::format(
          "{}: has no steps that all its devices recorded, apart from warm-up and outliers; "
          "mark each step, such as with an NVTX range named \"step 7\" "
          "(docs/guide/ANNOTATIONS.md), "
          "or record more steps",
          run);

    case analyzer::Refusal::kOneStep:
      return fmt::format("{}: a single step does not show how steps vary, record at least {}", run,
                         analyzer::kFewestComparedSteps);

    case analyzer::Refusal::kNoCommonKernel:
      return "the sides have no kernel in common, so they are different programs: "
             "compare runs of the same program";

    case analyzer::Refusal::kNotPaired:
      return fmt::format(
          "--paired: {} before and {} after --vs: "
          "name equally many runs on both sides, in the order in which they were interleaved",
          base::format_count(comparison.base.runs.size(), "run"), comparison.candidate.runs.size());

    case analyzer::Refusal::kOneSideInTurn:
      return "some runs were interleaved with another program (record --in-turn), "
             "others were not, and only the fastest steps of the former count: "
             "compare runs that were recorded in the same way";
  }

  return "name at least one run before and one after --vs";
}

}  // namespace stepscope::reports
