// The words of a search for faster settings: its verdict, and what became of each trial.
#pragma once

#include <string>
#include <string_view>

#include "tune/study.h"

namespace stepscope::reports {

/// "12.3 %"; a dash for what is not finite.
std::string percent_of(double share);
/// "12.3 % (10.1 … 14.5 %)"; without an interval where it is not bounded.
std::string saving_with_interval(tune::Saving const& saving);
/// "2.5 min": seconds as people read them.
std::string seconds_text(double seconds);

/// The answer in one sentence: what to set and what it saves, or why there is nothing to set.
std::string tuning_headline(tune::Study const& study);
/// What the headline leaves open: a sentence each on counts, further pairs, and how to go on.
/// `folder`: of the search, for commands.
std::string tuning_counts(tune::Study const& study);
/// Where the pairs that found the settings showed more than the answer; else empty.
std::string found_more_text(tune::Study const& study);
std::string further_pairs_text(tune::StudyAnswer const& answer);
/// What the default settings cost in the answer's pairs and in the further ones, where the latter
/// contradict the answer; else empty.
std::string further_pairs_default(tune::StudyAnswer const& answer);
/// What ended the further pairs before all were made, hostile text; empty: nothing did.
std::string further_pairs_end(tune::StudyAnswer const& answer);
std::string next_step_text(tune::Study const& study, std::string_view folder);

std::string_view trial_kind_label(tune::TrialKind kind);
std::string_view trial_verdict_label(tune::TrialVerdict verdict);
/// Why the trial ended as it did; empty where its verdict says all. What the trial itself says is
/// hostile text.
std::string trial_reason(tune::Study const& study, tune::Trial const& trial);
/// Knobs that a trial turned, hostile text; what noise and recordings are of, where it turned none.
std::string trial_settings(tune::Study const& study, tune::Trial const& trial);

}  // namespace stepscope::reports
