// The files that a path stands for: itself, the traces in a folder, or the traces of one run in its
// subfolders.
#pragma once

#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::import {

struct RunFiles {
  std::vector<std::string> files;  ///< in natural order of their names
  std::vector<std::string> notes;  ///< for users: folders that were left out
};

/// A file, or a folder. In a folder without a trace the subfolders are searched:
/// - Subfolders of single ranks are one run: by their words ("rank_0", "gpu1", "node0_gpu1"), or by
///   bare numbers from 0 with one file each. A rank with several captures gives the newest.
/// - Several numbered captures ("iteration_10", "iteration_20") or profiles of XLA give the newest;
///   a note names the others.
/// Errors: the folder cannot be read, holds no trace, or holds several runs; the message names
/// them.
base::Expected<RunFiles> find_run_files(std::string const& path);
/// find_run_files() without its notes.
base::Expected<std::vector<std::string>> files_of(std::string const& path);

/// Every file directly inside a folder that is a trace, perhaps a damaged one. Errors: as above.
base::Expected<std::vector<std::string>> files_directly_in(std::string const& folder);
/// Whether the subfolders of a folder hold single ranks, or captures of another tool: not runs to
/// compare.
bool is_one_nested_run(std::string const& folder);

}  // namespace stepscope::import
