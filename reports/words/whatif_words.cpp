#include "reports/words/whatif_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "reports/words/kernel_label.h"
#include "reports/words/labels.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::ReplayBaseline;
using analyzer::WhatIfAnswer;
using analyzer::WhatIfFix;
using analyzer::WhatIfStats;

/// Bytes: a line of a table has place for about so many.
constexpr size_t kMostWhatIfName = 48;
constexpr size_t kMostChangeText = 80;
constexpr size_t kMostReason = 400;
constexpr size_t kMostPathShares = 5;

std::string predicted_duration(double ns) {
  return std::isfinite(ns) ? base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18))) : "–";
}

/// The gain if the step took `ns` instead of the answer's own step.
double gain_at(WhatIfAnswer const& answer, double ns) {
  return (1 + answer.gain) * answer.step_ns / ns - 1;
}

/// Whether all of the interval is a gain; without an interval the gain itself decides.
bool is_faster(WhatIfAnswer const& answer) {
  return has_interval(answer) ? gain_at(answer, answer.high_ns) > 0 : answer.gain > 0;
}

/// "+26.1 %, 95 %: +25.9 % to +26.3 %".
std::string gain_words(WhatIfAnswer const& answer) {
  std::string const interval = gain_interval(answer);
  return signed_gain(answer.gain) + (interval.empty() ? "" : ", 95 %: " + interval);
}

std::string change_name(WhatIfAnswer const& answer) {
  return shown(answer.change, kMostChangeText);
}

/// "input=0 makes the step 15.3 ms instead of 19.3 ms (26.1 % faster, 95 %: +25.9 % to +26.3 %)":
/// the words of `stepscope analyze` for the same number.
std::string prediction_words(WhatIfStats const& stats, WhatIfAnswer const& answer) {
  bool const is_gain = std::isfinite(answer.gain) && answer.gain >= 0;
  std::string const interval = gain_interval(answer);
  return fmt::format("{} makes the step {} instead of {} ({}{})", change_name(answer),
                     predicted_duration(answer.step_ns), predicted_duration(stats.baseline.step_ns),
                     is_gain ? gain_text(answer.gain) : signed_gain(answer.gain),
                     interval.empty() ? "" : ", 95 %: " + interval);
}

/// The answer as far as its finding goes, which is what `stepscope analyze` counts: a change may
/// take away more.
WhatIfAnswer as_far_as_found(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                             WhatIfFix const& fix) {
  WhatIfAnswer answer = fix.alone;
  auto const& most = analysis.findings[fix.finding].gain_ceiling;
  if (!most || answer.gain <= *most) return answer;
  answer.gain = *most;
  answer.step_ns = stats.baseline.step_ns / (1 + *most);
  answer.low_ns = answer.high_ns = std::nan("");
  return answer;
}

std::string fix_headline(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                         WhatIfFix const& fix) {
  std::string const finding = fixed_finding(analysis, fix);
  if (is_faster(fix.alone))
    return fmt::format("Fix {} first: {}.", finding,
                       prediction_words(stats, as_far_as_found(analysis, stats, fix)));
  return fmt::format(
      "No fix makes the step faster beyond doubt. The best one is for {}: {} gives {}.", finding,
      change_name(fix.alone), gain_words(fix.alone));
}

/// The finding that `analyze` names before the best fix, where no replay shows its own fix. Without
/// this sentence the two commands would blame different culprits. Empty: a replay shows every fix.
std::string unpredicted_finding(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                                WhatIfFix const& best) {
  WhatIfFix const* first = nullptr;
  for (WhatIfFix const& fix : stats.fixes) {
    bool const is_before = fix.finding < (first != nullptr ? first->finding : best.finding);
    if (fix.alone.is_refused && is_before) first = &fix;
  }

  if (first == nullptr) return {};
  return fmt::format(" The first finding is {}, and no replay shows its fix: {}",
                     fixed_finding(analysis, *first), refusal_sentence(first->alone.reason));
}

/// The predicted answer with the largest gain; null where every answer is refused.
WhatIfAnswer const* best_answer(std::vector<WhatIfAnswer> const& answers) {
  WhatIfAnswer const* best = nullptr;
  for (WhatIfAnswer const& answer : answers)
    if (!answer.is_refused && (best == nullptr || answer.gain > best->gain)) best = &answer;
  return best;
}

std::string answer_headline(WhatIfStats const& stats, WhatIfAnswer const& best) {
  bool const is_alone = stats.answers.size() == 1;
  if (is_alone || is_faster(best)) return prediction_words(stats, best) + ".";
  return fmt::format("No change makes the step faster beyond doubt. The best one, {}, gives {}.",
                     change_name(best), gain_words(best));
}

}  // namespace

std::string signed_gain(double gain) {
  constexpr double kReadAsFactor = 1;  // as gain_text() has it
  if (!std::isfinite(gain)) return "–";
  if (gain >= kReadAsFactor) return gain_text(gain);
  std::string const share = base::format_share(std::abs(gain));
  bool const is_loss = gain < 0 && share != base::format_share(0);
  return (is_loss ? "−" : "+") + share;
}

bool has_interval(WhatIfAnswer const& answer) {
  return std::isfinite(answer.low_ns) && std::isfinite(answer.high_ns) && answer.low_ns > 0 &&
         answer.low_ns < answer.high_ns;
}

std::string step_interval(WhatIfAnswer const& answer) {
  if (!has_interval(answer)) return {};
  return fmt::format("{} to {}", predicted_duration(answer.low_ns),
                     predicted_duration(answer.high_ns));
}

std::string gain_interval(WhatIfAnswer const& answer) {
  if (!has_interval(answer)) return {};
  return fmt::format("{} to {}", signed_gain(gain_at(answer, answer.high_ns)),
                     signed_gain(gain_at(answer, answer.low_ns)));
}

std::string whatif_headline(analyzer::Analysis const& analysis, WhatIfStats const& stats) {
  if (stats.baseline.is_refused) return "No prediction: " + refusal_sentence(stats.baseline.reason);

  for (WhatIfFix const& fix : stats.fixes)
    if (!fix.alone.is_refused)
      return fix_headline(analysis, stats, fix) + unpredicted_finding(analysis, stats, fix);
  if (WhatIfAnswer const* const best = best_answer(stats.answers))
    return answer_headline(stats, *best);

  if (stats.fixes.empty() && stats.answers.empty())
    return "No finding of this run has a fix to predict. Ask for a change with --change.";
  return "No prediction: the replay cannot show any of these changes. The reasons are below.";
}

std::string replay_sentence(ReplayBaseline const& baseline) {
  if (!(baseline.replayed_step_ns > 0)) return {};
  std::string const error = base::format_share(std::abs(baseline.error));
  bool const is_short = baseline.error < 0 && error != base::format_share(0);
  return fmt::format(
      "Replay of the unchanged run: {} recorded, {} replayed with typical delays, error {}{}.",
      predicted_duration(baseline.step_ns), predicted_duration(baseline.replayed_step_ns),
      is_short ? "−" : "", error);
}

std::vector<std::string> replay_cautions(ReplayBaseline const& baseline) {
  std::vector<std::string> cautions;
  double const error = std::abs(baseline.error);

  if (baseline.is_refused && error > analyzer::kReplayRefusal)
    cautions.push_back(
        fmt::format("Stepscope predicts nothing from a replay that misses the step by more than "
                    "{:.0f} %.",
                    analyzer::kReplayRefusal * 100));
  else if (error > analyzer::kReplayCaution)
    cautions.push_back(
        fmt::format("Caution: the replay misses the step by more than {:.0f} %, and predictions "
                    "may be wrong by as much.",
                    analyzer::kReplayCaution * 100));

  constexpr size_t kLongestGap = 400;
  for (std::string const& gap : baseline.cautions)
    cautions.push_back("Caution: " + shown(gap, kLongestGap) + ".");
  if (baseline.is_part)
    cautions.emplace_back("The run is large: Stepscope replayed its middle steps.");
  if (baseline.steps > 0 && std::isnan(baseline.spread))
    cautions.emplace_back(
        "Only one step is measured: how much steps vary is not known, and no interval is given.");
  if (std::isfinite(baseline.spread) && baseline.spread > 0)
    cautions.push_back(fmt::format(
        "The recorded mean step is known to ±{} (95 %, {} of all devices).",
        base::format_share(baseline.spread), base::format_count(baseline.steps, "step")));
  return cautions;
}

std::vector<std::vector<std::string>> residual_rows(ReplayBaseline const& baseline) {
  if (!(std::abs(baseline.error) > kShownReplayError) || baseline.residuals.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"unusual delays of", "class", "per step", "operations"}};

  for (analyzer::ReplayResidual const& residual : baseline.residuals)
    rows.push_back({kernel_label(residual.name, kMostWhatIfName),
                    std::string(path_part(residual.path_class).label),
                    signed_duration(static_cast<double>(residual.ns)),
                    base::format_count(residual.count)});
  return rows;
}

std::string fixed_finding(analyzer::Analysis const& analysis, WhatIfFix const& fix) {
  if (fix.finding >= analysis.findings.size()) return "–";
  return shown(analysis.findings[fix.finding].rule, kMostWhatIfName);
}

std::vector<std::vector<std::string>> fix_rows(analyzer::Analysis const& analysis,
                                               WhatIfStats const& stats) {
  std::vector<std::vector<std::string>> rows = {{"finding", "change", "step alone", "gain alone",
                                                 "step in sequence", "gain in sequence",
                                                 "bottleneck then"}};

  for (WhatIfFix const& fix : stats.fixes) {
    if (fix.alone.is_refused) continue;
    WhatIfAnswer const* const next =
        fix.in_sequence && !fix.in_sequence->is_refused ? &*fix.in_sequence : nullptr;

    rows.push_back({fixed_finding(analysis, fix), change_name(fix.alone),
                    predicted_duration(fix.alone.step_ns), signed_gain(fix.alone.gain),
                    next != nullptr ? predicted_duration(next->step_ns) : "–",
                    next != nullptr ? signed_gain(next->gain) : "–",
                    next_bottleneck(next != nullptr ? *next : fix.alone)});
  }

  return rows.size() > 1 ? rows : std::vector<std::vector<std::string>>{};
}

std::string next_bottleneck(WhatIfAnswer const& answer) {
  std::string const label(path_part(answer.next_class).label);
  return answer.next.empty() ? label : label + ": " + kernel_label(answer.next, kMostWhatIfName);
}

std::string path_shares(analyzer::PathSplit const& path) {
  std::array<size_t, analyzer::kPathClassCount> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return path[a] > path[b]; });

  double sum = 0;
  for (int64_t const ns : path) sum += static_cast<double>(std::max<int64_t>(ns, 0));

  std::string text;
  for (size_t i = 0; i < kMostPathShares; ++i) {
    double const ns = static_cast<double>(path[order[i]]);
    if (!(ns > 0) || ns / sum < kLeastShownShare) break;
    auto const path_class = static_cast<analyzer::PathClass>(order[i]);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", path_part(path_class).label,
                        base::format_share(ns / sum));
  }
  return text;
}

std::string changed_words(WhatIfAnswer const& answer) {
  constexpr double kLeastGain = 0.0005;  // less is shown as none
  if (answer.changed == 0) return "nothing in this run";
  bool const is_one = answer.changed == 1;
  std::string text =
      is_one ? "1 operation, call or stretch of host time"
             : base::format_count(answer.changed) + " operations, calls and stretches of host time";
  if (std::abs(answer.gain) < kLeastGain)
    text += is_one ? "; no step waits for it" : "; no step waits for them";
  return text;
}

std::vector<std::string> answer_lines(WhatIfAnswer const& answer) {
  if (answer.is_refused) return {"no prediction: " + refusal_sentence(answer.reason)};
  auto const with_interval = [](std::string const& value, std::string const& interval) {
    return interval.empty() ? value : fmt::format("{} (95 %: {})", value, interval);
  };

  std::vector<std::string> lines = {
      fmt::format("step {}, gain {}",
                  with_interval(predicted_duration(answer.step_ns), step_interval(answer)),
                  with_interval(signed_gain(answer.gain), gain_interval(answer))),
      "changed: " + changed_words(answer)};
  std::string const shares = path_shares(answer.path);
  if (!shares.empty()) lines.push_back("critical path then: " + shares);
  lines.push_back("bottleneck then: " + next_bottleneck(answer));
  return lines;
}

std::vector<std::string> answer_cautions(WhatIfAnswer const& answer) {
  constexpr size_t kLongestCaution = 400;
  std::vector<std::string> lines;
  for (std::string const& caution : answer.cautions)
    lines.push_back("caution: " + shown(caution, kLongestCaution));
  return lines;
}

std::string refusal_sentence(std::string_view reason) {
  std::string text = shown(reason, kMostReason);
  if (text.empty()) return "the reason is not known.";
  return text.ends_with('.') ? text : text + ".";
}

}  // namespace stepscope::reports
