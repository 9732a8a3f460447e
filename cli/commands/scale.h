// stepscope run WORKLOAD --scale 1,2,4: the same training on more and more devices, a recorded run
// each.
#pragma once

#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::cli {

struct ScaleSeries {
  std::vector<int> devices;      ///< one run each, in this order
  std::string output;            ///< folder of the runs; empty = the workload's name with "-scale"
  std::string backend = "host";  ///< of --device
  bool force = false;            ///< runs that are in the folder already are replaced
  std::vector<std::string> arguments;  ///< what is left for the workload
  [[nodiscard]] bool is_asked() const { return !devices.empty(); }
};

/// Takes --scale, and with it -o, --force and --device, out of the arguments of a workload. Errors:
/// not numbers from 1, --device with a number of devices, several processes, being recorded from
/// outside.
base::Expected<ScaleSeries> parse_scale(std::vector<std::string> const& arguments);

/// Runs and records the series. The exit code of the first run that fails, else 0. Errors: a folder
/// that cannot be written.
base::Expected<int> run_scale(std::string const& workload, ScaleSeries const& series);

}  // namespace stepscope::cli
