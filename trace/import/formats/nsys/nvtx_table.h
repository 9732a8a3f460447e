// Ranges and marks of NVTX: named as our own capture names them, steps and phases where the program
// marks them for us.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "trace/import/formats/nsys/nccl_calls.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

struct NvtxRows {
  NcclCalls nccl;
  std::map<int64_t, std::string> thread_names;  ///< by global id, as the program named them
  uint64_t unended = 0;  ///< ranges that never end, shown until the end of the trace
  uint64_t unbegun = 0;  ///< ends without a begin, left out
  uint64_t unknown = 0;  ///< rows of types that are not modelled
};

/// After all other tables: ranges without an end last until the end of everything.
NvtxRows read_nvtx_table(Processes& processes);

}  // namespace stepscope::import::nsys
