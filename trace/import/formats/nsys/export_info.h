// An export's data besides its events: where and when it was recorded, devices, names of threads
// and streams, ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/import/formats/nsys/nvtx_table.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

/// Read before the events: it tells how their times count.
struct ExportInfo {
  std::string tool, host;
  int64_t utc_epoch_ns = 0;                        ///< of time 0; 0 = unknown
  bool is_normalized = false;                      ///< times count since the Unix epoch
  int64_t shift_ns = 0;                            ///< was added to all times by the export
  std::string command;                             ///< that the profiler launched
  std::map<std::string, std::string> environment;  ///< of that command: what tells ranks
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> warnings;  ///< of the profiler, for people
};
ExportInfo read_export_info(Database& database);

/// Names, devices and descriptions of tracks for all processes. After all events.
void describe_processes(Processes& processes, ExportInfo const& info, NvtxRows const& nvtx);

/// Gives every process that is shown the rank that the export or the environment states. Else the
/// rank is < 0 and the processes are sorted in the order in which they most likely have theirs. A
/// note says that this is a guess. `file`: its name may contain the rank.
void find_ranks(std::vector<Process*>& shown, Database& database, ExportInfo const& info,
                NcclCalls const& nccl, std::string const& file);

}  // namespace stepscope::import::nsys
