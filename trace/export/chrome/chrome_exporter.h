// Writes a run as JSON of Chrome trace events with the categories and arguments of PyTorch's
// profiler: for chrome://tracing, Perfetto's UI and every tool that reads Kineto's traces.
#pragma once

#include <memory>
#include <string>

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// A file holds all processes. A folder (one that is there, or a name that ends with "/") gets a
/// file each, rank-N.json. They open again as the same run. remove_leftovers() removes other files
/// of such names. Memory: the names of one process. Errors: see PartialFile.
base::Expected<std::unique_ptr<Exporter>> open_chrome(std::string const& path);

}  // namespace stepscope::exporting
