// A scaling series as text for a terminal: verdict, throughput for each number of devices,
// efficiency factors, lost time, predictions, notes.
#pragma once

#include <string>

#include "analyzer/scaling/series.h"
#include "reports/text/text.h"

namespace stepscope::reports {

/// For a series without refusal. UTF-8, ends with a newline. Text from the traces is made
/// printable.
std::string scaling_text(analyzer::ScalingSeries const& series, TextOptions const& options = {});

}  // namespace stepscope::reports
