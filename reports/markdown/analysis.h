// What a run did as Markdown, for a pull request, an issue or a wiki: verdict, where the time goes,
// findings.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// UTF-8, ends with a newline. Tables are GitHub's. The first kMarkdownFindings findings; the text
/// says how many more there are.
std::string analysis_markdown(model::Run const& run, analyzer::Analysis const& analysis);
inline constexpr size_t kMarkdownFindings = 10;

/// Its parts: the heading, the verdict and where the time goes; and a list item for one finding.
std::string summary_markdown(model::Run const& run, analyzer::Analysis const& analysis);
std::string finding_markdown(model::Run const& run, analyzer::Analysis const& analysis,
                             analyzer::Finding const& finding);

}  // namespace stepscope::reports
