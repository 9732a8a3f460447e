#include "reports/words/slowdown_words.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Less of the loss than this is not worth naming.
constexpr double kLeastShareOfLoss = 0.01;
constexpr size_t kMostStagesInLine = 16;

bool is_worth_naming(std::optional<double> share) {
  return share && std::isfinite(*share) && *share >= kLeastShareOfLoss;
}

}  // namespace

std::string share_of_loss(double share) {
  return share >= 1 ? std::string(tr("all")) : base::format_share(share);
}

std::string slowdown_text(double s) { return fmt::format("{:.3f}", s); }

std::string slowdown_sentence(analyzer::SlowdownStats const& slowdown) {
  std::string text = tr(
      "Replayed without delays between operations, a step takes {}; with equally fast workers {}: "
      "it takes {} × as long.",
      base::format_duration(std::llround(slowdown.step_ns)),
      base::format_duration(std::llround(slowdown.ideal_step_ns)), slowdown_text(slowdown.s));

  if (!slowdown.stages.empty() && slowdown.stages.size() <= kMostStagesInLine) {
    std::string each;
    for (auto const& stage : slowdown.stages)
      each += (each.empty() ? "" : ", ") + slowdown_text(stage.s);
    text += tr(" With one stage as recorded and all others equal, by stage: {}.", each);
  }

  if (is_worth_naming(slowdown.m_stage))
    text += tr(" The last stage accounts for {} of the loss.", share_of_loss(*slowdown.m_stage));
  if (is_worth_naming(slowdown.m_worker))
    text += tr(" The slowest workers (3 % of all) account for {} of the loss.",
               share_of_loss(*slowdown.m_worker));
  return text;
}

}  // namespace stepscope::reports
