// Benchmark of the collectives and messages between devices, printed as nccl-tests prints them. See
// allreduce.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/backend/backend.h"

namespace stepscope::workloads {

constexpr char const* kAllReduceDescription =
    "Benchmark of all-reduce and the other collectives between devices: time, algorithm and bus "
    "bandwidth by message size";

struct AllReduceOptions {
  std::string device = "host:2";
  std::string op = "all_reduce";  ///< or reduce_scatter, all_gather, broadcast, sendrecv
  uint64_t min_bytes = 1 << 10U, max_bytes = 16 << 20U;
  double factor = 2;  ///< from one size to the next
  int64_t iterations = 20, warmup = 5;
  bool check = true;
  uint64_t memory_limit_mib = 0;  ///< a device; 0 = the backend's default
  bool json = false;
};

struct AllReduceRow {
  uint64_t bytes = 0;     ///< of the whole message
  size_t count = 0;       ///< floats
  double time_us = 0;     ///< median over the iterations
  double algbw_gbps = 0;  ///< bytes / time, 1e9 bytes a second
  double busbw_gbps = 0;  ///< algbw × the op's bus factor
  size_t wrong = 0;       ///< elements over all devices
  bool checked = false;
};

/// Bytes that each member has to send at least, per byte of the message, over n = `members`. It is
/// 2 (n − 1) / n for all-reduce, (n − 1) / n for reduce-scatter and all-gather, 1 for broadcast and
/// messages, and 0 for a single member. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(CollectiveOp op, size_t members);

/// Errors: unknown op or device, a factor that does not grow, sizes out of order, out of memory.
base::Expected<std::vector<AllReduceRow>> measure_all_reduce(AllReduceOptions const& options,
                                                             std::FILE* log);

base::Expected<int> run_all_reduce(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
