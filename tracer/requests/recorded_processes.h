// The processes of this user on this machine that have the tracer loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::tracer {

struct RecordedProcess {
  std::string run;  ///< its folder
  std::string host;
  int64_t process_id = 0;
  std::optional<int32_t> rank;
  std::string command;
  bool is_on_request = false;
};

/// Sorted by run and process id.
std::vector<RecordedProcess> recorded_processes();

}  // namespace stepscope::tracer
