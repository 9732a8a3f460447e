// Caveats of comparisons, and the steps that they leave out.
#include <cmath>

#include <fmt/format.h>

#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Caveat;
using analyzer::Comparison;

/// "base: 2 of warm-up, 1 outlier"; empty if all steps count.
std::string left_out(analyzer::SideStats const& side, std::string_view name) {
  std::vector<std::string> parts;
  if (side.warmup_steps > 0) parts.push_back(fmt::format("{} of warm-up", side.warmup_steps));
  if (side.slow_start_steps > 0)
    parts.push_back(fmt::format("{} of a slow start", side.slow_start_steps));
  if (side.outlier_steps > 0) parts.push_back(base::format_count(side.outlier_steps, "outlier"));
  if (side.incomplete_steps > 0)
    parts.push_back(
        fmt::format("{} incomplete or not steady on all devices", side.incomplete_steps));

  if (parts.empty()) return {};
  std::string text = fmt::format("{}: ", name);
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

/// `needed`: runs on each side that would settle it; 0: unknown.
std::string few_runs_text(uint64_t needed) {
  if (needed > 0)
    return fmt::format(
        "With so few runs the variation between runs is hardly known, "
        "and Stepscope compares single recordings by their steps alone, "
        "which says less about the program. "
        "If more runs vary as these do, {} on each side would settle it.",
        base::format_count(needed, "run"));

  return "With so few runs only a change of many times their own variation is detectable; "
         "four runs on each side, or ten pairs, detect far smaller changes.";
}

std::string interleaved_text(analyzer::CaveatStats const& caveat) {
  std::string const interval =
      caveat.low_ns == caveat.high_ns
          ? std::string()
          : fmt::format(" (95 % interval {} to {})", signed_duration(caveat.low_ns),
                        signed_duration(caveat.high_ns));

  return fmt::format(
      "The programs were interleaved: "
      "only the fastest quarter of the steps of each run counts, "
      "which the machine disturbed least. A slowdown of single steps is not included; "
      "the mean of all steps changed by {}{}.",
      signed_duration(caveat.ns), interval);
}

std::string caveat_text(analyzer::CaveatStats const& caveat) {
  switch (caveat.caveat) {
    case Caveat::kOneRun:
      return "One run on each side: the variation between runs of the same program is not known. "
             "The verdicts apply to these two recordings only; "
             "give several runs on each side to attribute a difference to the change.";
    case Caveat::kFewRuns:
      return few_runs_text(caveat.needed);
    case Caveat::kFewSteps:
      return fmt::format(
          "A side has fewer than {} steps: there are means, but no verdict. Record more steps.",
          analyzer::kFewestComparedSteps);

    case Caveat::kDrift:
      return "The step time drifts within a run, so its steps do not show how far it varies: "
             "only a change beyond the drift counts. Record for longer, or record several runs.";
    case Caveat::kOutliers:
      return fmt::format(
          "Verdicts and parts are about the steady step. "
          "The steps left out (outliers, slow start) cost {} a step {} than before, "
          "on average over all steps.",
          base::format_duration(std::llround(std::abs(caveat.ns))),
          caveat.ns > 0 ? "more" : "less");

    case Caveat::kKernelNames:
      return "Less than half of the kernel time is in kernels that both sides have: "
             "another program, library or GPU? Single kernels can hardly be compared.";
    case Caveat::kMissingRanks:
      return "Ranks are missing on a side: "
             "waiting for peers, and the ranks that cause it, may be wrong.";
    case Caveat::kTraceIntegrity:
      return "A recording lost events (stepscope doctor RUN reports which): "
             "its parts may be wrong.";
    case Caveat::kInTurn:
      return interleaved_text(caveat);
    case Caveat::kNoMemory:
      return "A side has no device memory events, so memory is not compared.";
  }
  return {};
}

std::string pairs_text(analyzer::Change const& change) {
  std::string text = fmt::format("{} compared: the runs of each pair were interleaved.",
                                 base::format_count(change.base_values, "pair") +
                                     (change.base_values == 1 ? " was" : " were"));

  if (change.agreement && change.base_values > 1) {
    analyzer::PairAgreement const& pairs = *change.agreement;
    bool const is_less = pairs.less >= pairs.more;
    text += fmt::format(" The new run is {} in {} of {} ({} to {}).", is_less ? "faster" : "slower",
                        is_less ? pairs.less : pairs.more, change.base_values,
                        signed_share(pairs.lowest, 1), signed_share(pairs.highest, 1));
  }

  bool const is_by_steps = change.method == analyzer::CompareMethod::kMannWhitney ||
                           change.method == analyzer::CompareMethod::kStudent;
  if (is_by_steps)
    text += fmt::format(
        " So few pairs do not show how pairs vary: "
        "the interval is that of their steps, widened by {:.0f} % of the base to each side. "
        "Runs of the same program have not been observed to differ by as much.",
        analyzer::kPairSpread * 100);

  return text;
}

}  // namespace

std::vector<std::string> comparison_notes(Comparison const& comparison) {
  std::vector<std::string> notes;
  for (auto const& caveat : comparison.caveats) notes.push_back(caveat_text(caveat));

  analyzer::Change const& step = comparison.step().change;
  if (step.unit == analyzer::CompareUnit::kBlock && !step.drifts)
    notes.push_back(fmt::format(
        "Successive steps are correlated, or very many: Stepscope compared means of {} steps.",
        step.steps_per_value));
  if (step.unit == analyzer::CompareUnit::kPair) notes.push_back(pairs_text(step));

  std::string const base = left_out(comparison.base, "base"),
                    candidate = left_out(comparison.candidate, "new");
  if (!base.empty() || !candidate.empty())
    notes.push_back("Steps left out: " + base + (base.empty() || candidate.empty() ? "" : "; ") +
                    candidate + ".");

  return notes;
}

}  // namespace stepscope::reports
