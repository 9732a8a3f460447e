// The scaling report: one self-contained page like the report of a run. Every number is in a table
// written here; the script adds charts, sorting and searching. Names of kernels and runs are
// hostile text.
#pragma once

#include <string>

#include "analyzer/scaling/series.h"
#include "reports/html/html.h"

namespace stepscope::reports {

/// A whole HTML document of a series without refusal. `options`: uses title, version and language.
std::string scaling_html(analyzer::ScalingSeries const& series, ReportOptions const& options = {});

/// What the page's script draws, as JSON (reports/web/src/data.ts, Scaling); not yet safe inside a
/// script element.
std::string scaling_page_data(analyzer::ScalingSeries const& series);

}  // namespace stepscope::reports
