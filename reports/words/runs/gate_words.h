// What a gate says, in words: one spelling for text, JSON, Markdown, JUnit, SARIF and annotations.
// Text from traces and files is made printable; each output escapes it for its own format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/gate/gate.h"

namespace stepscope::reports {

/// "passed", "failed", "unclear".
std::string_view gate_word(analyzer::GateVerdict verdict);
/// One sentence: "FAILED: cifar10: 1 of 3 checks failed: step time." Without a check what was done
/// instead: "BASELINE WRITTEN: cifar10: 4 runs, in baselines/cifar10.json."
std::string gate_headline(analyzer::GateResult const& result);
/// "step time", "peak memory allocated", "budget step_time_ms <= 12".
std::string answer_title(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// Stable, for machines: "step_time", "memory", "budget.step_time_ms".
std::string answer_id(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// The numbers in short: "15.3 ms → 19.7 ms, +28.9 % (95 % interval +28.9 % to +29.0 %)".
std::string answer_summary(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// Sentences: the result, its largest part, and for an unclear result what would settle it.
std::string answer_message(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// What title and summary of a check that did not pass leave out; empty without.
std::string answer_reason(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// Variation of the values, smallest detectable change, and what would settle an unclear result;
/// empty if that is not known.
std::string noise_text(analyzer::GateResult const& result, analyzer::GateAnswer const& answer);
/// The comparison without what the gate says itself: how many runs would settle it, for its own
/// limits. Needs one.
analyzer::Comparison shown_comparison(analyzer::GateResult const& result);
/// "12 more steps of the new run", "4 more runs on each side".
std::string more_text(analyzer::MoreValues const& more);

/// One change of a history: "SLOWER since run 41 (abc123): …".
std::string level_change_text(analyzer::HistoryStats const& history,
                              analyzer::LevelChange const& change);
/// What the history says as a whole; empty without one.
std::string history_text(analyzer::GateResult const& result);
/// A heading and a row for each run of a baseline: its name, steps, mean step, peak of memory.
std::vector<std::vector<std::string>> kept_rows(analyzer::KeptBaseline const& kept);
/// The command that checks new runs against this baseline: "stepscope check NEW… --baseline
/// baselines".
std::string next_command(analyzer::KeptBaseline const& kept);
/// How far its runs vary, and what change a check would tell; empty where that is not known.
std::string kept_noise_text(analyzer::KeptBaseline const& kept);
/// Whole sentences that a reader has to know, beyond those of the comparison: what was kept, too.
std::vector<std::string> gate_notes(analyzer::GateResult const& result);

}  // namespace stepscope::reports
