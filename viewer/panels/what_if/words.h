// What the panel What-if says, apart from any window: the sentences and numbers of `stepscope
// whatif`, from the same functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/panels/what_if/predictions.h"

namespace stepscope::viewer {

/// How far the replay is, or why the run has no replay; empty: the replay answers.
std::string replay_progress(WhatIfStatus const& status);
/// How far the replay can be trusted, a sentence a line.
std::vector<std::string> trust_lines(analyzer::ReplayBaseline const& baseline);
/// What was asked, then a line a fact, then the cautions. All text is printable.
std::vector<std::string> prediction_lines(analyzer::ReplayBaseline const& baseline,
                                          analyzer::WhatIfAnswer const& answer);
/// "Step 3 of rank 0 · device 0 begins where it was recorded. …"; empty: no step is measured.
std::string alignment_words(Scene const& scene, GhostTracks const& ghosts);

/// A line of the table of fixes.
struct FixLine {
  std::string finding, change, step, alone, in_sequence, bottleneck;
  std::string reason;   ///< why no replay shows the fix; empty: one does
  std::string changes;  ///< what a click puts into the box; empty: nothing
  /// Steps as shares of the recorded one: after the fixes above, and with this one, too. None: the
  /// fix is not in the sequence.
  std::optional<double> before, after;
};
/// In the order of the sequence; refused fixes last.
std::vector<FixLine> fix_lines(analyzer::ReplaySession const& session,
                               std::vector<analyzer::WhatIfFix> const& fixes);

}  // namespace stepscope::viewer
