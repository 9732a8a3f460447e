#include "reports/words/runs/scaling_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::ChangePart;
using analyzer::LostPart;
using analyzer::LostTime;
using analyzer::ScalingFit;
using analyzer::ScalingLimit;
using analyzer::ScalingPoint;
using analyzer::ScalingSeries;
using analyzer::SeriesCaveat;

constexpr size_t kMostShownName = 48;
/// What explains less of a part than this does not explain it.
constexpr double kLeastExplainedShare = 0.1;

constexpr std::array<FactorWords, analyzer::kScalingFactorCount> kFactorWords = {{
    {"load balance", "mean compute time of the devices / compute time of the device with most"},
    {"communication efficiency",
     "compute time / busy time of the busiest device; "
     "the remainder is communication, waiting for peers in collectives, and copies"},
    {"orchestration",
     "busy time of the busiest device / step; in the remainder all devices are idle: "
     "launch-bound, or waiting for other work"},
    {"computation scaling",
     "compute time of the work on the fewest devices / its compute time here; "
     "kernels that get slower or more numerous lower it"},
}};

constexpr std::array<FactorWords, analyzer::kLostPartCount> kLostWords = {{
    {"slower kernels", "calls of kernels take longer than their share of the work"},
    {"more kernel calls", "kernels are called more often"},
    {"other kernels", "kernels that run on only one of the two numbers of devices"},
    {"less concurrency", "kernels overlap each other less"},
    {"exposed transfers", "communication that no compute hides, but for waiting for peers"},
    {"waiting for peers",
     "for devices that are late for another reason than compute: "
     "host, input, copies, communication"},
    {"imbalance", "waiting for devices that compute longer"},
    {"exposed copies", "copies that neither compute nor communication hides"},
    {"host", "idle because of the host: input, allocation, synchronization, launch-bound"},
    {"rest", "other idle time: dependencies within a rank, CUDA graphs, the profiler, unexplained"},
}};

std::string share_text(double fraction) { return base::format_share(fraction); }
std::string duration_text(double ns) {
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}

/// The late device whose part changed most, among those that compute longer or the others.
std::string late_text(LostTime const& loss, bool by_compute, double part_ns) {
  analyzer::LateChange const* most = nullptr;
  auto const change = [](analyzer::LateChange const& late) {
    return late.candidate_ns - late.base_ns;
  };

  for (auto const& late : loss.explained.late) {
    if ((late.cause == to_string(analyzer::StepPart::kCompute)) != by_compute ||
        (change(late) > 0) != (part_ns > 0))
      continue;
    if (most == nullptr || std::abs(change(late)) > std::abs(change(*most))) most = &late;
  }

  if (most == nullptr || std::abs(change(*most)) < kLeastExplainedShare * std::abs(part_ns))
    return {};

  std::string cause(tr("reason unknown"));
  for (int i = 0; i < kPartCount; ++i)
    if (part(i).key == most->cause) cause = part(i).label;
  if (most->cause == "comm") cause = tr("communication");
  if (most->cause == "copy") cause = tr("copies");

  return lateness_text(*most, cause, kMostShownName);
}

/// The idle cause that changed most among those of a part, and what the host did meanwhile.
std::string idle_text(LostTime const& loss, LostPart lost, double part_ns) {
  std::optional<size_t> most;
  auto const ns = [&](size_t cause) {
    return static_cast<double>(
        loss.explained.parts_ns[static_cast<size_t>(ChangePart::kFirstIdle) + cause]);
  };

  for (size_t c = 0; c < analyzer::kIdleCauseCount; ++c)
    if (analyzer::lost_part(static_cast<analyzer::IdleCause>(c)) == lost &&
        (ns(c) > 0) == (part_ns > 0) && (!most || std::abs(ns(c)) > std::abs(ns(*most))))
      most = c;

  if (!most || std::abs(ns(*most)) < kLeastExplainedShare * std::abs(part_ns)) return {};
  auto const change = static_cast<ChangePart>(static_cast<size_t>(ChangePart::kFirstIdle) + *most);
  std::string const reason = change_part_reason(loss.explained, change);
  return fmt::format("{} {}{}{}", signed_duration(ns(*most)),
                     part(static_cast<int>(*most) + 3).label, reason.empty() ? "" : tr(", of it "),
                     reason);
}

LostTime const& loss_from_first(ScalingSeries const& series, size_t point) {
  return *std::find_if(series.losses.begin(), series.losses.end(),
                       [&](LostTime const& loss) { return loss.from == 0 && loss.to == point; });
}

/// What holds, and which factors fell all the same.
std::string unbroken_text(ScalingSeries const& series) {
  analyzer::ScalingFactors const &first = series.points.front().factors,
                                 &last = series.points.back().factors;

  std::string fell;
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
    if (last.by_factor[f] <= (1 - analyzer::kBrokenShare) * first.by_factor[f])
      fell += std::string(fell.empty() ? "" : tr(", ")) +
              tr("{}{} from {} to {}", factor_words(static_cast<analyzer::ScalingFactor>(f)).label,
                 fell.empty() ? tr(" fell") : "", share_text(first.by_factor[f]),
                 share_text(last.by_factor[f]));

  return tr("Nothing broke: the efficiency keeps above {} up to {}.{}",
            share_text(1 - analyzer::kBrokenShare), devices_text(series.points.back().devices),
            fell.empty() ? "" : tr(" But {}, which other factors make up for.", fell));
}

}  // namespace

std::string devices_text(uint64_t devices) { return counted(devices, "device"); }

std::string devices_text(std::vector<uint64_t> const& devices) {
  if (devices.size() == 1) return devices_text(devices.front());
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i > 0) text += i + 1 == devices.size() ? tr(" and ") : ", ";
    text += base::format_count(devices[i]);
  }
  return tr("{} devices", text);
}

std::string_view throughput_unit(ScalingSeries const& series) {
  if (series.samples) return tr("samples/s");
  return tr(series.is_strong() ? "steps/s" : "device steps/s");
}

std::string plain_number(double value) {
  if (!std::isfinite(value)) return "–";
  double const size = std::abs(value);
  if (size >= 99.95 && size < 1e15)
    return (value < 0 ? "-" : "") + base::format_count(static_cast<uint64_t>(std::llround(size)));
  return size == 0 ? "0" : fmt::format("{:#.3g}", value);
}

std::string share_interval(analyzer::Estimate const& estimate) {
  if (!estimate.low || !estimate.high) return "–";
  return fmt::format("{:.1f} … {}", *estimate.low * 100, share_text(*estimate.high));
}

LostTime const& whole_loss(ScalingSeries const& series) {
  return series.losses[series.points.size() - 2];
}

std::string loss_heading(ScalingSeries const& series, LostTime const& loss) {
  return tr("Where it went: a step on {} takes {}, ideal is {}; exact breakdown of the {} between",
            devices_text(series.points[loss.to].devices), base::format_duration(loss.step_ns),
            base::format_duration(loss.ideal_ns),
            signed_duration(static_cast<double>(loss.step_ns - loss.ideal_ns)));
}

FactorWords factor_words(analyzer::ScalingFactor factor) {
  FactorWords const& words = kFactorWords[static_cast<size_t>(factor)];
  return {tr(words.label), tr(words.meaning)};
}
FactorWords lost_part_words(LostPart part_of_loss) {
  FactorWords const& words = kLostWords[static_cast<size_t>(part_of_loss)];
  return {tr(words.label), tr(words.meaning)};
}

std::string lost_part_reason(LostTime const& loss, LostPart lost) {
  auto const ns = static_cast<double>(loss.parts_ns[static_cast<size_t>(lost)]);
  if (ns == 0) return {};
  auto const of = [&](ChangePart part_of_change) {
    return change_part_reason(loss.explained, part_of_change);
  };
  switch (lost) {
    case LostPart::kKernels:
      return of(ChangePart::kKernelSpeed);
    case LostPart::kCalls:
      return of(ChangePart::kKernelCalls);
    case LostPart::kOtherKernels:
      return of(ns > 0 ? ChangePart::kNewKernels : ChangePart::kVanishedKernels);
    case LostPart::kWaiting:
      return late_text(loss, false, ns);
    case LostPart::kImbalance:
      return late_text(loss, true, ns);
    case LostPart::kHost:
    case LostPart::kRest:
      return idle_text(loss, lost, ns);
    case LostPart::kOverlap:
    case LostPart::kCommunication:
    case LostPart::kCopies:
      break;
  }
  return {};
}

std::string step_part_label(analyzer::StepPart step_part) {
  std::string_view const key = to_string(step_part);
  if (step_part == analyzer::StepPart::kWaiting) return std::string(tr("waiting for peers"));
  if (step_part == analyzer::StepPart::kCommunication) return std::string(tr("exposed transfers"));
  if (step_part == analyzer::StepPart::kCopies) return std::string(tr("exposed copies"));
  for (int i = 0; i < kPartCount; ++i)
    if (part(i).key == key)
      return std::string(part(i).idle ? tr("idle: ") : "") + std::string(part(i).label);
  return std::string(key);
}

std::string_view model_label(analyzer::ScalingModel model) {
  constexpr std::array<std::string_view, 3> kLabels = {"Amdahl's law", "universal scalability law",
                                                       "performance model normal form"};
  return tr(kLabels[static_cast<size_t>(model)]);
}

std::string cost_term_text(analyzer::CostTerm const& term) {
  if (term.shape == analyzer::CostTerm::Shape::kConstant) return "1";
  std::string text;

  if (term.numerator != 0) {
    text = "n";
    if (term.denominator != 1)
      text += fmt::format("^({}/{})", term.numerator, term.denominator);
    else if (term.numerator != 1)
      text += fmt::format("^{}", term.numerator);
  }

  if (term.logs > 0)
    text += fmt::format("{}log2{} n", text.empty() ? "" : " · ",
                        term.logs == 1 ? "" : fmt::format("^{}", term.logs));

  return text;
}

std::string scaling_limit_number(ScalingLimit const& pays_to) {
  return fmt::format("{}{}", pays_to.is_open ? "≥ " : "", base::format_count(pays_to.devices));
}

std::string scaling_limit_interval(ScalingFit const& fit) {
  if (!fit.pays_to_low || !fit.pays_to_high) return "–";
  std::string const low = scaling_limit_number(*fit.pays_to_low),
                    high = scaling_limit_number(*fit.pays_to_high);
  return low == high ? low : fmt::format("{} … {}", low, high);
}

std::string half_interval(analyzer::Estimate const& estimate) {
  if (!estimate.low || !estimate.high || estimate.value <= 0) return "–";
  return fmt::format("±{:.2f} %", (*estimate.high - *estimate.low) / 2 / estimate.value * 100);
}

std::string fit_text(ScalingFit const& fit) {
  auto const of_one = [](analyzer::Estimate const& estimate) {
    std::string text = base::format_significant(estimate.value * 100, 3) + " %";
    if (estimate.low && estimate.high)
      text += fmt::format(" ({} … {} %)", base::format_significant(*estimate.low * 100, 2),
                          base::format_significant(*estimate.high * 100, 2));
    return text;
  };

  switch (fit.model) {
    case analyzer::ScalingModel::kAmdahl: {
      std::string const most =
          fit.most_speedup ? tr("; no number of devices can do more than {} times the work of one",
                                plain_number(*fit.most_speedup))
                           : std::string();
      return tr("σ = {}: the cost that each additional device adds to a unit of work{}.",
                of_one(fit.sigma), most);
    }
    case analyzer::ScalingModel::kUsl: {
      std::string const peak = fit.peak_devices
                                   ? tr("; beyond {} devices the throughput would fall",
                                        plain_number(std::max(*fit.peak_devices, 1.0)))
                                   : std::string();
      return tr("σ = {} for each additional device, κ = {} for each pair of devices{}.",
                of_one(fit.sigma), of_one(fit.kappa), peak);
    }
    case analyzer::ScalingModel::kPmnf:
      break;
  }

  if (fit.term.shape == analyzer::CostTerm::Shape::kConstant)
    return std::string(
        tr("Nothing grows: a unit of work costs the same on any number of devices."));
  return tr("A unit of work costs {} + {} · {} of device time.",
            duration_text(fit.cost.coefficient(0)), duration_text(fit.cost.coefficient(1)),
            cost_term_text(fit.term));
}

std::string scaling_kind_text(ScalingSeries const& series) {
  analyzer::KindStats const& facts = series.kind;

  std::string const kind(
      tr(series.is_strong()
             ? "Strong scaling: a step does the same work on any number of devices"
             : "Weak scaling: each device does the same work on any number of devices"));

  switch (facts.evidence) {
    case analyzer::KindEvidence::kAsked:
      return tr("{} (set by --scaling).", kind);
    case analyzer::KindEvidence::kCopiedIn:
      return tr("{} (copied to a device per step: {} with {}, {} with {}).", kind,
                base::format_bytes(static_cast<uint64_t>(std::max(facts.first, 0.0))),
                devices_text(series.points.front().devices),
                base::format_bytes(static_cast<uint64_t>(std::max(facts.last, 0.0))),
                series.points.back().devices);
    case analyzer::KindEvidence::kKernels:
      break;
  }

  return tr(
      "{} (kernel time per step and device: {} with {}, {} with {}; "
      "--scaling overrides this).",
      kind, duration_text(facts.first), devices_text(series.points.front().devices),
      duration_text(facts.last), series.points.back().devices);
}

std::string scaling_break_text(ScalingSeries const& series) {
  if (!series.broken) return unbroken_text(series);

  analyzer::FactorBreak const& broken = *series.broken;
  LostTime const& loss = loss_from_first(series, broken.point);
  std::string text = tr("{} broke first: {} at {}, {} at {}.", factor_words(broken.factor).label,
                        share_text(broken.before), devices_text(series.points.front().devices),
                        share_text(broken.here), devices_text(series.points[broken.point].devices));
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');

  auto const most = std::max_element(loss.parts_ns.begin(), loss.parts_ns.end());
  if (*most > 0) {
    auto const lost = static_cast<LostPart>(most - loss.parts_ns.begin());
    std::string const reason = lost_part_reason(loss, lost);
    text += tr(" The largest part of the time lost there per step is {} ({}{}{}).",
               lost_part_words(lost).label, signed_duration(static_cast<double>(*most)),
               reason.empty() ? "" : "; ", reason);
  }

  return text;
}

std::string scaling_limit_text(ScalingSeries const& series) {
  if (!series.fits.best)
    return std::string(tr("No model fits, so there is no prediction for more devices."));

  ScalingFit const& best = series.fits.fits[*series.fits.best];
  std::string text = best.pays_to.is_open ? tr("Doubling the devices pays off up to at least {}, "
                                               "the largest number that the models evaluate",
                                               devices_text(best.pays_to.devices))
                                          : tr("Doubling the devices pays off up to {}",
                                               devices_text(best.pays_to.devices));

  if (best.pays_to_low && best.pays_to_high &&
      !(best.pays_to_low->is_open && best.pays_to_high->is_open))
    text += tr(" (95 % interval {} to {})", scaling_limit_number(*best.pays_to_low),
               scaling_limit_number(*best.pays_to_high));

  text += tr(": a doubling gives at least {} times the throughput, according to {}",
             analyzer::kLeastDoublingGain, model_label(best.model));
  if (best.loo_error)
    text += tr(", which predicts each measured number of devices from the others within {} %",
               base::format_significant(*best.loo_error * 100, 2));

  return text.append(tr("."));
}

/// From here on no cache explains an efficiency: the runs on the fewest devices were slowed, or do
/// other work.
constexpr double kDoubtfulEfficiency = 1.10;

std::string scaling_headline(ScalingSeries const& series) {
  ScalingPoint const &first = series.points.front(), &last = series.points.back();
  std::string const interval =
      last.efficiency.low ? tr("; 95 % interval {} to {}", share_text(*last.efficiency.low),
                               share_text(*last.efficiency.high))
                          : "";

  double const efficiency = last.efficiency.low.value_or(last.efficiency.value);
  if (efficiency > kDoubtfulEfficiency)
    return tr(
        "These runs do not show how well the job scales: "
        "{} seem to do {} times the work of {}, {} of ideal{}. "
        "So much more than ideal means that something slowed the runs on the fewest devices, "
        "or that they did other work. Record these again.",
        devices_text(last.devices), plain_number(last.speedup.value), devices_text(first.devices),
        share_text(last.efficiency.value), interval);

  return tr("{} do {} times the work of {} in the same time: {} of ideal{}. {}",
            devices_text(last.devices), plain_number(last.speedup.value),
            devices_text(first.devices), share_text(last.efficiency.value), interval,
            scaling_break_text(series));
}

std::string scaling_refusal(ScalingSeries const& series) {
  std::string const run = shown(series.refused_run, 200);

  switch (series.refusal.value_or(analyzer::SeriesRefusal::kNoSteps)) {
    case analyzer::SeriesRefusal::kNoSteps:
      break;
    case analyzer::SeriesRefusal::kOneSize:
      return fmt::format(
          "all runs are of {}: a scaling series needs runs of different numbers; stepscope compare "
          "says what changed between runs of one",
          series.points.empty() ? "no device" : devices_text(series.points.front().devices));
    case analyzer::SeriesRefusal::kNoCommonKernel:
      return fmt::format(
          "{}: has no kernel in common with the run of the fewest devices: they are of different "
          "programs",
          run);

    case analyzer::SeriesRefusal::kKindUnclear: {
      analyzer::KindStats const& facts = series.kind;
      std::string const amounts =
          facts.evidence == analyzer::KindEvidence::kCopiedIn
              ? fmt::format("the bytes copied to a device per step go from {} to {}",
                            base::format_bytes(static_cast<uint64_t>(std::max(facts.first, 0.0))),
                            base::format_bytes(static_cast<uint64_t>(std::max(facts.last, 0.0))))
              : fmt::format("the kernel time per step and device goes from {} to {}",
                            duration_text(facts.first), duration_text(facts.last));
      return fmt::format(
          "from {} to {} {}, which is neither the same work per device nor the same per step: say "
          "--scaling weak or --scaling strong, if "
          "all runs train the same",
          devices_text(series.points.front().devices), series.points.back().devices, amounts);
    }
  }

  return fmt::format(
      "{}: has no steps that all its devices recorded, apart from warm-up and outliers; "
      "mark each step, such as with an NVTX range named \"step 7\" (docs/guide/ANNOTATIONS.md), or "
      "record more steps",
      run);
}

}  // namespace stepscope::reports
