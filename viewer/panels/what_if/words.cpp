#include "viewer/panels/what_if/words.h"

#include <cmath>

#include <fmt/format.h>

#include "reports/words/whatif_words.h"
#include "trace/base/format.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {

std::string replay_progress(WhatIfStatus const& status) {
  if (!status.failure.empty())
    return "The run cannot be replayed: " + printable_name(status.failure);
  if (!status.session) return "Building the graph of the replay…";
  if (!status.session->baseline().is_refused) return {};
  return "No prediction: " + reports::refusal_sentence(status.session->baseline().reason);
}

std::vector<std::string> trust_lines(analyzer::ReplayBaseline const& baseline) {
  std::vector<std::string> lines;
  if (std::string sentence = reports::replay_sentence(baseline); !sentence.empty())
    lines.push_back(std::move(sentence));
  for (std::string& caution : reports::replay_cautions(baseline))
    lines.push_back(std::move(caution));
  return lines;
}

std::vector<std::string> prediction_lines(analyzer::ReplayBaseline const& baseline,
                                          analyzer::WhatIfAnswer const& answer) {
  std::vector<std::string> lines = {printable_name(answer.change)};
  if (!answer.is_refused)
    lines.push_back(
        fmt::format("recorded step {}", base::format_duration(std::llround(baseline.step_ns))));
  for (std::string& line : reports::answer_lines(answer)) lines.push_back(std::move(line));
  for (std::string& line : reports::answer_cautions(answer)) lines.push_back(std::move(line));
  return lines;
}

std::string alignment_words(Scene const& scene, GhostTracks const& ghosts) {
  analyzer::PredictedTimeline const& timeline = ghosts.timeline;
  if (timeline.aligned_step >= timeline.steps.size()) return {};
  analyzer::PredictedStep const& step = timeline.steps[timeline.aligned_step];
  return fmt::format(
      "Step {} of {} begins where it was recorded; all other predicted times "
      "follow from there.",
      step.step, describe(scene, step.ref));
}

std::vector<FixLine> fix_lines(analyzer::ReplaySession const& session,
                               std::vector<analyzer::WhatIfFix> const& fixes) {
  analyzer::WhatIfStats stats;
  stats.baseline = session.baseline();
  stats.fixes = fixes;
  // A heading, then a row for each fix that is not refused.
  auto const rows = reports::fix_rows(session.analysis(), stats);
  size_t next = 1;
  double before = 1;

  std::vector<FixLine> lines;
  for (analyzer::WhatIfFix const& fix : fixes) {
    FixLine line;
    line.finding = reports::fixed_finding(session.analysis(), fix);
    line.changes = analyzer::written_changes(fix.changes);
    line.change = printable_name(line.changes, 80);
    if (fix.alone.is_refused) {
      line.reason = reports::refusal_sentence(fix.alone.reason);
    } else if (next < rows.size()) {
      std::vector<std::string> const& row = rows[next++];
      line.alone = row[3];
      line.step = row[4];
      line.in_sequence = row[5];
      line.bottleneck = row[6];
    }

    if (fix.in_sequence && stats.baseline.step_ns > 0) {
      line.before = before;
      before = fix.in_sequence->step_ns / stats.baseline.step_ns;
      line.after = before;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stepscope::viewer
