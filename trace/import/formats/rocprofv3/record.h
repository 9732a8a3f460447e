// What one process told rocprofv3, row by row, whatever the file's format is: both its JSON and its
// database have these rows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace stepscope::import::rocm {

/// A processor of the machine, as ROCm numbers them.
struct Agent {
  uint64_t handle = 0;  ///< by which rows refer to it; 0 = not stated
  bool is_gpu = false;
  std::optional<int32_t> number;  ///< among the agents of its type
  std::string name;
  uint64_t memory_bytes = 0;   ///< 0 = unknown
  uint32_t compute_units = 0;  ///< 0 = unknown
};

/// A kernel, copy, call, range or allocation. Members that its kind does not have keep their
/// defaults.
struct Record {
  int64_t start = 0, end = 0;  ///< ns since the host's boot
  uint64_t kind = 0, operation = 0;
  uint64_t thread = 0;
  uint64_t correlation = 0;   ///< of the innermost traced call around it; 0 = none
  uint64_t agent = 0;         ///< that works; of a copy its target
  uint64_t source_agent = 0;  ///< of a copy
  std::optional<uint64_t> stream, queue;
  uint64_t kernel = 0;                ///< number of its symbol
  std::array<uint64_t, 3> threads{};  ///< of the whole grid, not blocks
  std::array<uint64_t, 3> block{};
  uint64_t shared_bytes = 0;
  uint64_t bytes = 0, address = 0;  ///< of a copy or an allocation
  bool has_failed = false;          ///< of a call: it returned an error
};

/// a − b, or the farthest value in that direction: TraceBuilder moves such times and counts them.
inline int64_t minus(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace stepscope::import::rocm
