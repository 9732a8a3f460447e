// The words of a replay with changes: one spelling for text and Markdown. Text from the trace, the
// command line and the engine is made printable; each output escapes it for its own format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/whatif_stats.h"

namespace stepscope::reports {

/// "+26.1 %", "−3.0 %", from ten times on "12.0 × as fast"; "–" where it is not a number.
std::string signed_gain(double gain);
/// Whether an answer has an interval of its step.
bool has_interval(analyzer::WhatIfAnswer const& answer);
/// "15.2 ms to 15.4 ms"; empty where it is not known.
std::string step_interval(analyzer::WhatIfAnswer const& answer);
/// "+25.9 % to +26.3 %", the gains of the bounds of the step; empty where they are not known.
std::string gain_interval(analyzer::WhatIfAnswer const& answer);

/// The sentence that a reader needs if there is time for one: what to do first, and what it gives;
/// or why Stepscope predicts nothing.
std::string whatif_headline(analyzer::Analysis const& analysis, analyzer::WhatIfStats const& stats);
/// "Replay of the unchanged run: 19.3 ms recorded, 19.3 ms replayed with typical delays, error
/// 0.0 %." Empty where nothing was replayed.
std::string replay_sentence(analyzer::ReplayBaseline const& baseline);
/// What limits the trust in the replay, a sentence each.
std::vector<std::string> replay_cautions(analyzer::ReplayBaseline const& baseline);
/// Above this error of the replay its residuals are shown.
inline constexpr double kShownReplayError = 0.001;
/// A heading and a row for each residual; empty where the error is too small to look at them.
std::vector<std::vector<std::string>> residual_rows(analyzer::ReplayBaseline const& baseline);

/// The rule of the finding that a fix is for.
std::string fixed_finding(analyzer::Analysis const& analysis, analyzer::WhatIfFix const& fix);
/// A heading and a row for each predicted fix, in sequence; empty where no fix is predicted.
std::vector<std::vector<std::string>> fix_rows(analyzer::Analysis const& analysis,
                                               analyzer::WhatIfStats const& stats);
/// "compute: gemm": what a changed run spends most of its critical path on.
std::string next_bottleneck(analyzer::WhatIfAnswer const& answer);
/// "compute 62.0 %, communication 20.1 %": a critical path by class, the largest shares first.
std::string path_shares(analyzer::PathSplit const& path);
/// "1,234 operations, calls and stretches of host time"; "nothing in this run".
std::string changed_words(analyzer::WhatIfAnswer const& answer);
/// What an answer says, a line a fact: the step and the gain with their intervals, what was
/// changed, the critical path and the bottleneck then. Why, where it is refused.
std::vector<std::string> answer_lines(analyzer::WhatIfAnswer const& answer);
/// What limits an answer, a line each.
std::vector<std::string> answer_cautions(analyzer::WhatIfAnswer const& answer);
/// The reason of a refusal as a sentence.
std::string refusal_sentence(std::string_view reason);

}  // namespace stepscope::reports
