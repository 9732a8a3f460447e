// What a run did, as gauges for dashboards: OpenMetrics text 1.0.0, which Prometheus, its node
// exporter's text files, Grafana's agents and others read. Times are seconds, shares are ratios, as
// that format wants it.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// UTF-8, ends with "# EOF\n". What is not known has no sample; every family is there, so that
/// names are known before values.
std::string openmetrics(model::Run const& run, analyzer::Analysis const& analysis);

/// A label's value, in quotes: backslash, quote and line feed escaped, invalid UTF-8 replaced, cut
/// at 300 bytes.
std::string openmetrics_label(std::string_view value);

}  // namespace stepscope::reports
