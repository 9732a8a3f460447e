// Opens whatever a user names as RUN: a trace file, a folder of them, several files. One file a process becomes one Run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::import {

/// The files that a path stands for, sorted by name: itself, or every trace file directly inside a folder. Errors: the folder
/// cannot be read or holds none.
base::Expected<std::vector<std::string>> files_of(std::string const& path);

/// `paths`: files and folders (every trace file directly inside). Opens and aligns them, reads no events. Errors: nothing there,
/// or nothing readable. A file that cannot be opened beside others that can is told in RunSources::notes.
base::Expected<RunSources> open_sources(std::span<std::string const> paths);

/// The same with all events in memory.
base::Expected<model::Run> open_run(std::span<std::string const> paths);
base::Expected<model::Run> open_run(std::string const& path);

}  // namespace stepscope::import
