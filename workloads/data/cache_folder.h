// Where generated data sets are kept from run to run.
#pragma once

#include <filesystem>

namespace stepscope::workloads {

/// $STEPSCOPE_CACHE, else $XDG_CACHE_HOME/stepscope, else ~/.cache/stepscope, else a folder for temporary files. Not made.
std::filesystem::path cache_folder();

}  // namespace stepscope::workloads
