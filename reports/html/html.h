// The HTML report: one self-contained page that opens anywhere, offline. Every number is in a table
// written here; the script adds charts, sorting and searching. Everything that comes from a trace
// is hostile text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "analyzer/results/analysis.h"
#include "reports/words/language.h"
#include "trace/base/expected.h"

namespace stepscope::reports {

struct ReportOptions {
  std::string title;    ///< empty: the run's name
  std::string version;  ///< of the program that writes the report, for the footer
  Language language = Language::kEnglish;
  int timeline_spans =
      6'000;  ///< of a timeline view, about; more cost time and size, fewer cost detail
};

/// A whole HTML document.
std::string report_html(model::Run const& run, analyzer::Analysis const& analysis,
                        ReportOptions const& options = {});

/// Gives a process of the run with all its events.
using ReadProcess =
    std::function<base::Expected<std::shared_ptr<model::RankTrace const>>(size_t process)>;
/// The page of a run that is too large for memory. `outline` has the rows of each process that
/// analyzer/metrics/steps/skeleton_rows.h keeps; `read` is called for one process at a time.
/// Errors: those of reading.
base::Expected<std::string> report_html(model::Run const& outline,
                                        analyzer::Analysis const& analysis, ReadProcess const& read,
                                        ReportOptions const& options = {});

/// False when the program was built without npm: the report then has its tables, but no charts.
bool report_has_charts();

}  // namespace stepscope::reports
