// The folder that a run is written to: made, checked and cleared before anything is written, so
// that no run is ever mixed with another or overwritten unasked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/output_folder.h"

namespace stepscope::base {

inline constexpr std::string_view kTraceSuffix = ".stepscope";
/// Files with sums of each step (trace/stream) end so; the run has them in this folder.
inline constexpr std::string_view kStreamSuffix = ".steps", kStreamFolder = "stream";

/// Whether Stepscope writes files of this name into a run's folder: traces, their truth, reports.
bool is_run_file(std::string_view file_name);

/// The folder, in that of a run, of the window of these steps: "steps-100-105". INT64_MAX: to the
/// end.
std::string name_of_window(int64_t first_step, int64_t last_step);
/// The folder of the window that the program itself opened as its first, second and so on:
/// "window-1".
std::string name_of_code_window(uint64_t number);
/// The folder of a window by time, named for its begin in UTC: "at-20261128-120000".
std::string name_of_timed_window(int64_t epoch_s);
/// The names of folders, in that of a run, with what was kept of its last while begin so:
/// "ring-812", for the step at which it was written; "ring-last".
inline constexpr std::string_view kRingPrefix = "ring-";
/// The fact of a process that keeps a ring: what it holds.
inline constexpr char kRingFact[] = "ring";
/// The fact of their traces that says why they were written.
inline constexpr char kWrittenBecauseFact[] = "written because";
/// The name of a ring that is written at that step; −1: the program has no steps, and the time
/// names it (UTC): "ring-at-20261128-120000".
std::string name_of_ring(int64_t step, int64_t epoch_s);
/// The windows and rings of a run that was recorded in several: folders of those names, by their
/// steps or numbers; those that are named for a time are last.
std::vector<std::string> windows_in(std::string const& folder);

/// The names that --force may remove from `folder`. In a folder without a trace, a report.html
/// belongs to the user.
IsNamed old_run_files(std::string const& folder);

/// Makes `folder` ready for a new run: creates it, or finds it empty, or (with `force`) removes the
/// run files in it and leaves everything else alone. True when the folder was made here. Errors: no
/// name, a file of that name, a folder with content without force, no permission.
Expected<bool> prepare_run_folder(std::string const& folder, bool force);
/// For one process of a job that share a folder: only files that are `own` count, whatever else is
/// in it.
Expected<bool> prepare_shared_run_folder(std::string const& folder, bool force, IsNamed const& own);

/// The same for a command that writes the whole run itself: what it writes to staging() takes the
/// place of an old run only when it publishes with old_run_files(). Errors: as above, or another
/// command is writing there.
Expected<OutputFolder> take_run_folder(std::string const& folder, bool force);

}  // namespace stepscope::base
