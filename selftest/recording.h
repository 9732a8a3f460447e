// Runs a program under `stepscope record` and reads its output and its recording.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "doctor/child.h"
#include "selftest/selftest.h"
#include "trace/model/run.h"

namespace stepscope::selftest {

struct Recording {
  model::Run run;
  std::vector<nlohmann::json> output;  ///< each line of its output that is a JSON object
  int exit_code = 0;                   ///< as a shell reports it
};

/// The lines of `output` that are JSON objects.
std::vector<nlohmann::json> json_lines(std::string const& output);

/// Runs `command` alone. Errors: it did not end by itself within minutes, or printed no JSON
/// object.
base::Expected<Recording> run_alone(std::vector<std::string> const& command);
/// The same under `stepscope record` with these options, into a folder of that name. Errors also:
/// nothing readable was recorded.
base::Expected<Recording> record(Setup const& setup, std::string const& name,
                                 std::vector<std::string> const& command,
                                 std::vector<std::string> const& options = {});

}  // namespace stepscope::selftest
