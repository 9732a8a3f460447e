// A scaling series as a person reads it in a terminal in 20 seconds: verdict, what each number of devices gives, the factors of
// its efficiency, where it went, how far it goes on, doubts.
#pragma once

#include <string>

#include "analyzer/scaling/series.h"
#include "reports/text/text.h"

namespace stepscope::reports {

/// Of a series that is not refused. UTF-8, ends with a newline. Text from the traces is made printable.
std::string scaling_text(analyzer::ScalingSeries const& series, TextOptions const& options = {});

}  // namespace stepscope::reports
