// The page of a search, for `stepscope report FOLDER` and at the end of `stepscope tune`.
#pragma once

#include <string>

#include "reports/html/html.h"
#include "trace/base/expected.h"

namespace stepscope::tune {
class Study;
}

namespace stepscope::cli {

class TuneFolder;

/// Whether a search is in the folder, or what is left of one.
bool holds_search(std::string const& folder);
/// The page of a search that is over, interrupted or going on; the folder is only read. Errors: a
/// damaged file, a build without workloads.
base::Expected<std::string> search_page(std::string const& folder,
                                        reports::ReportOptions const& options);

/// Writes tuning.html into the folder of a search that this command runs; returns its path.
/// Errors: the disk is full.
base::Expected<std::string> write_search_page(TuneFolder const& folder, tune::Study const& study,
                                              std::string const& unpredicted);

}  // namespace stepscope::cli
