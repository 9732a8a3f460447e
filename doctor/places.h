// Where a check looks: this machine, or a made one in a folder. The seam of all checks of a
// machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::doctor {

struct Places {
  std::string root;  ///< in front of /proc, /sys, /dev …; empty = this machine
  std::string
      libraries;  ///< folder that libraries are loaded from; empty = as the loader finds them
  std::string run_folder;     ///< where a run would be written
  std::string tracer_folder;  ///< where the tracer's libraries are
  std::map<std::string, std::string> environment;
  bool is_root = false;  ///< the user is
};

/// `program_folder`: of the stepscope program.
Places this_machine(std::string const& program_folder);

/// The value of a variable that is set and not empty.
std::optional<std::string> variable(Places const& places, std::string const& name);
/// Nothing when it cannot be read.
std::optional<std::string> read_file(Places const& places, std::string const& path);
/// The entry of a file of "key: value" lines, as the NVIDIA driver writes them.
std::optional<std::string> read_entry(Places const& places, std::string const& path,
                                      std::string const& key);
bool exists(Places const& places, std::string const& path);
/// Full paths, sorted; empty when there is no such folder.
std::vector<std::string> list_folder(Places const& places, std::string const& path);

/// Folders of libraries of the CUDA toolkits that CUDA_PATH and CUDA_HOME name, and of
/// /usr/local/cuda.
std::vector<std::string> toolkit_library_folders(Places const& places);

/// Folders of NVIDIA's libraries inside Python's packages (nvidia/cu13/lib, nvidia/nccl/lib …), of
/// the interpreter that `python3` starts, of the active environment and of the system.
std::vector<std::string> python_library_folders(Places const& places);

}  // namespace stepscope::doctor
