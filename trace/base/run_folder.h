// The folder that a run is written to: made, checked and cleared before anything is written, so that no run is ever mixed with
// another or overwritten unasked.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::base {

inline constexpr std::string_view kTraceSuffix = ".stepscope";

/// Whether Stepscope writes files of this name into a run's folder: traces, their truth, reports.
bool is_run_file(std::string_view file_name);

/// Makes `folder` ready for a new run: creates it, or finds it empty, or (with `force`) removes the run files in it and leaves
/// everything else alone. True when the folder was made here. Errors: no name, a file of that name, a folder with content
/// without force, no permission.
Expected<bool> prepare_run_folder(std::string const& folder, bool force);
/// For one process of a job that share a folder: only files that are `own` count, whatever else is in it.
Expected<bool> prepare_shared_run_folder(std::string const& folder, bool force,
                                         std::function<bool(std::string_view file_name)> const& own);

}  // namespace stepscope::base
