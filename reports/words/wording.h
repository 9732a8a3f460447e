// The words of findings: a rule's numbers as a title, an explanation and an advice. Rules have no
// prose, outputs have no rules. docs/reference/FINDINGS.md says the same at length, one section a
// rule.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

struct FindingWords {
  std::string title;        ///< a few words, no full stop
  std::string explanation;  ///< one or two sentences with the numbers
  std::string advice;       ///< what to do next, one sentence
};

/// Also sensible for a rule that has no words yet. Text from the trace in it is made printable and
/// cut.
FindingWords words_of(model::Run const& run, analyzer::Analysis const& analysis,
                      analyzer::Finding const& finding);

/// Every rule that has words of its own.
std::span<std::string_view const> worded_rules();

/// A metric as people read it: {"wait_ns", 1.2e6} → {"wait", "1.20 ms"}; the unit is in the key
/// (_ns, _us, _bytes, _gbps, share).
struct MetricWords {
  std::string label, value;
};
MetricWords metric_words(std::string_view key, double value);

}  // namespace stepscope::reports
