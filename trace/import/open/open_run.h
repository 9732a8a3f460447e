// Opens whatever a user names as RUN: a trace file, a folder of them, several files. One file a
// process becomes one Run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/clock_alignment.h"
#include "trace/import/open/run_files.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::import {

/// The lowest `count` ranks that no trace states, for traces that do not state theirs.
std::vector<int32_t> free_ranks(std::set<int32_t> const& stated, size_t count);
/// Notes for users about ranks guessed from numbers in file names (numbers.h): one note per file.
std::vector<std::string> notes_of_named_ranks(std::span<std::string const> files,
                                              std::span<int32_t const> ranks);
/// A process that does not state its rank.
struct NumberedProcess {
  std::string file;
  int32_t rank = 0;  ///< the rank that Stepscope assumed
};
/// Notes for users about such ranks: one note per file.
std::vector<std::string> notes_of_free_ranks(std::span<NumberedProcess const> processes);

/// How much of the traces without an index stays in memory. A run with more files and more events
/// has all of them packed (spilled_source.h).
struct MemoryLimit {
  size_t files = SIZE_MAX;
  uint64_t events = UINT64_MAX;
};

/// What one file holds: a source a process in it.
using OpenedFile = base::Expected<std::vector<TraceSource>>;
/// Opens files, several at once, because parts of each file are read by a single core.
std::vector<OpenedFile> open_files(std::vector<std::string> const& files, MemoryLimit in_memory);

/// How files are found, opened and read, where not by this program alone.
struct FileAccess {
  std::function<base::Expected<RunFiles>(std::string const& path)> find;  ///< as find_run_files()
  std::function<std::vector<OpenedFile>(std::vector<std::string> const& files)> open;
  ForEachRank for_each_rank;
};

/// `paths`: files and folders (every trace file directly inside). Opens and aligns them, reads no
/// events. RunSources::notes names each file that cannot be opened while others can. Errors:
/// nothing there or nothing readable; paths that were recorded at different times
/// (separate_captures.h) unless `paths_are_one_run`. With `access`, `in_memory` is its business.
base::Expected<RunSources> open_sources(std::span<std::string const> paths,
                                        MemoryLimit in_memory = {}, bool paths_are_one_run = false,
                                        FileAccess const& access = {});

/// All events of the open sources. Run::notes names each process that cannot be read while others
/// can. Errors: no process can be read.
base::Expected<model::Run> load_run(RunSources sources);

/// open_sources() and load_run().
base::Expected<model::Run> open_run(std::span<std::string const> paths,
                                    bool paths_are_one_run = false);
base::Expected<model::Run> open_run(std::string const& path);

}  // namespace stepscope::import
