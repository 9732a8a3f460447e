// Where a repository keeps a gate's files, and what stands at a path: a run, a baseline, a history,
// or a folder of baselines, one file a workload.
#pragma once

#include <string>
#include <string_view>

#include "gate/baseline.h"
#include "gate/history_file.h"
#include "trace/base/expected.h"

namespace stepscope::gate {

enum class PathKind : uint8_t { kRun, kBaseline, kHistory, kFolder };
/// Decides by content. JSON files of other tools are runs. A folder with a .stepscope trace is a
/// run; a folder that is empty or has a baseline is a folder of baselines.
PathKind kind_of(std::string const& path);

inline constexpr size_t kMostNameBytes = 100;
/// What a run is of: the bundled workload, else the script or program of its command, else the
/// run's name; only letters, digits,
/// '.',
/// '_' and '-', never empty, never hidden.
std::string workload_name(analyzer::RunMeasurements const& run);
/// A name that somebody chose. Errors: it could lead out of a folder, or names nothing.
base::Expected<void> check_name(std::string_view name);

/// The file of a workload where `path` is a folder of baselines, else `path`.
std::string baseline_file(std::string const& path, std::string_view name);
/// Errors: the file cannot be read, or is not what it has to be. In a folder the file NAME.json is
/// read; the message says which others there are.
base::Expected<Baseline> read_baseline(std::string const& path, std::string_view name);
base::Expected<History> read_history(std::string const& path);

/// Where baseline_target() lies, "" for the current folder.
std::string baseline_folder(std::string const& path);
/// The file to write a baseline to: `path` where it ends in .json, else NAME.json in that folder.
/// Its folder is made. Errors: the folder cannot be made, or the file is something else, which is
/// not replaced.
base::Expected<std::string> baseline_target(std::string const& path, std::string_view name);
/// What is there, or an empty history of that name, whose folder is made. Errors: the folder cannot
/// be made, or what is there is something else, or of another workload.
base::Expected<History> history_to_append(std::string const& path, std::string_view name);

}  // namespace stepscope::gate
