// One JSON file of Chrome trace events, in the form of PyTorch's profiler (Kineto). The events of
// one or more processes come first, then the data on devices, rank and clock.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trace/export/chrome/json_file.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

class ChromeDocument {
 public:
  /// `has_many`: of processes, whose names then contain the rank.
  ChromeDocument(base::PartialFile file, bool has_many);
  /// Run time = trace time + offset_ns.
  base::Expected<void> add(model::Trace const& trace, int64_t offset_ns);
  /// All is in the file, whose finish() is left to the caller.
  base::Expected<base::PartialFile> close() &&;

 private:
  friend class ChromeProcess;
  /// Begins the next event of the list, to which the caller appends an object.
  std::string& next_event();
  /// `wanted`, or a number that no other process here has.
  int64_t unique_pid(int64_t wanted);

  JsonFile file_;
  bool has_many_;
  bool is_first_event_ = true;
  std::set<int64_t> pids_;
  int64_t next_pid_ = int64_t{1} << 24U;  ///< above what systems give
  int64_t processes_ = 0;
  int64_t base_ns_ = 0;  ///< ns since the Unix epoch of run time 0; 0 = unknown
  model::TraceInfo info_;
  uint64_t dropped_ = 0;
  std::vector<model::Device> devices_;
};

}  // namespace stepscope::exporting
