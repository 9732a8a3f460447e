// The bundled training programs by name: what `stepscope run NAME …` runs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::workloads {

struct Workload {
  char const* name;
  char const* description;  ///< one line
  /// Arguments as after `stepscope run NAME`. Result: the exit code (0, 130 after Ctrl-C, 1 when
  /// training failed and said so). Error: wrong use or unreadable input, exit code 2.
  base::Expected<int> (*run)(std::span<std::string const> arguments);
  bool in_processes = false;  ///< trains together with the other processes of an mpirun or srun
};

std::span<Workload const> workloads();

/// Error also: unknown name; the message lists the known ones.
base::Expected<int> run_workload(std::string_view name, std::span<std::string const> arguments);

}  // namespace stepscope::workloads
