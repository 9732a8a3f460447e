// A record of NCCL's inspector plugin (plugins/profiler/inspector in NCCL, before that
// ext-profiler/inspector), format v4: an operation that ended, or what one dump of a communicator
// lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/import/common/json/cursor.h"

namespace stepscope::import {

/// Views of the text, strings without their quotes and with their escapes. Times are µs since the
/// Unix epoch by the host's clock.
struct InspectorRecord {
  /// 11 days: no operation takes longer, and a damaged number moves no other record by more.
  static constexpr int64_t kMostDurationUs = 1'000'000'000'000;

  enum class Kind : uint8_t { kOther, kCollective, kMessage, kStatistics };
  enum class Timing : uint8_t {
    kUnknown,
    kKernelGpu,      ///< by the GPU's clock
    kKernelHost,     ///< when a host thread saw the kernel begin and end
    kCollectiveHost  ///< of the host's call, not of the kernel
  };
  Kind kind = Kind::kOther;

  // The communicator; from v4.3 on only the statistics in front of a dump name it.
  bool has_header = false;
  std::string_view communicator, communicator_name;
  int32_t rank = -1, ranks = 0;

  bool has_metadata = false;
  std::string_view version, host;
  int64_t process_id = 0;
  int64_t written_us = 0;

  std::string_view operation, algorithm, protocol;
  std::optional<uint64_t> sequence;
  uint64_t bytes = 0;
  std::optional<int64_t> duration_us;
  Timing timing = Timing::kUnknown;
  int32_t peer = -1;
  int64_t call_begin_us = 0,
          call_end_us = 0;    ///< of the host's call; 0 = not known, as the next two
  int64_t kernel_end_us = 0;  ///< the last channel was seen to end
  uint32_t channels = 0;
  uint64_t dropped = 0;  ///< of the communicator so far

  uint64_t strange = 0;  ///< impossible numbers: read as missing
};

/// The object that stands at the cursor; false when the cursor has failed.
bool read_inspector_record(JsonCursor& cursor, InspectorRecord& record);

}  // namespace stepscope::import
