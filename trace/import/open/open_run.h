// Opens whatever a user names as RUN: a trace file, a folder of them, several files. One file a
// process becomes one Run.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/run_files.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::import {

/// The ranks of traces that do not say theirs, in the order of their files: those that no other one
/// says.
std::vector<int32_t> free_ranks(std::set<int32_t> const& said, size_t count);
/// That ranks are guessed by numbers in the names of files (name_numbers.h), for people: one note a
/// file.
std::vector<std::string> notes_of_named_ranks(std::span<std::string const> files,
                                              std::span<int32_t const> ranks);
/// A process that did not say its rank.
struct NumberedProcess {
  std::string file;
  int32_t rank = 0;  ///< that it was given
};
/// That ranks were given so, for people: one note a file.
std::vector<std::string> notes_of_free_ranks(std::span<NumberedProcess const> processes);

/// How much of traces that are in memory as soon as they are open stays there. Of a run of more
/// files and more events all of them are packed (packed_source.h).
struct MemoryLimit {
  size_t files = SIZE_MAX;
  uint64_t events = UINT64_MAX;
};

/// `paths`: files and folders (every trace file directly inside). Opens and aligns them, reads no
/// events. Errors: nothing there, or nothing readable, or paths that were recorded at different
/// times (separate_captures.h) unless `paths_are_one_run`. A file that cannot be opened beside
/// others that can is told in RunSources::notes.
base::Expected<RunSources> open_sources(std::span<std::string const> paths,
                                        MemoryLimit in_memory = {}, bool paths_are_one_run = false);

/// All events of what is open. A process that cannot be read beside others that can is told in
/// Run::notes. Errors: none can be.
base::Expected<model::Run> load_run(RunSources sources);

/// open_sources() and load_run().
base::Expected<model::Run> open_run(std::span<std::string const> paths,
                                    bool paths_are_one_run = false);
base::Expected<model::Run> open_run(std::string const& path);

}  // namespace stepscope::import
