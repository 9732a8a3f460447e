// A scaling series as Markdown, for a pull request or a wiki: verdict, tables, doubts.
#pragma once

#include <string>

#include "analyzer/scaling/series.h"

namespace stepscope::reports {

/// For a series without refusal. UTF-8, ends with a newline. Tables are GitHub's.
std::string scaling_markdown(analyzer::ScalingSeries const& series);

}  // namespace stepscope::reports
