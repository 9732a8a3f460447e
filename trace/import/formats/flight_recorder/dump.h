// Reads a dump of PyTorch's flight recorder (torch/csrc/distributed/c10d/FlightRecorder*). It holds
// the last calls of collectives and messages of one rank, in the order in which they were made, and
// how far each came. Versions 1 and 2, pickle or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/formats/flight_recorder/plain_data.h"
#include "trace/model/details.h"
#include "trace/model/group_details.h"

namespace stepscope::import {

struct FlightGroup {
  std::string name, description;  ///< "0", "default_pg"
  std::vector<int32_t> ranks;     ///< in the job, in the group's order; empty = not known
  std::optional<model::GroupCounts>
      counts;  ///< as the process counted them; none where the group of the counts is unsure
};

/// Instants are ns since the Unix epoch by the host's clock.
struct FlightEntry {
  uint32_t group = 0;  ///< index of FlightDump::groups
  PlainValue name;     ///< "nccl:all_reduce", "nccl:send 0->1"
  PlainValue file, function;
  int64_t line = 0;  ///< of the program, where it made the call; 0 = not known
  uint64_t record = 0;
  uint64_t sequence = 0;
  bool is_message = false;
  bool is_retired = false;  ///< no thread of PyTorch waits for it any more
  model::CollectiveState state = model::CollectiveState::kUnknown;
  int64_t created_ns = 0;
  std::optional<int64_t> seen_started_ns,
      seen_completed_ns;                       ///< by a thread that looks now and then
  std::optional<double> duration_ms;           ///< on the device
  uint64_t input_bytes = 0, output_bytes = 0;  ///< 0 = not known
  model::DataType data_type = model::DataType::kUnknown;
};

struct FlightDump {
  PlainValue version, library_version;
  std::vector<FlightGroup> groups;
  std::vector<FlightEntry> entries;  ///< by record
  bool knows_starts = false;  ///< starts were looked for: without, "scheduled" may be started
  uint64_t incomplete =
      0;  ///< entries without a dictionary, a name or a time, or of a group too many: left out
  uint64_t doubled = 0;  ///< left out
  uint64_t strange = 0;  ///< impossible numbers: read as missing
};

/// Nothing when the data are no such dump.
std::optional<FlightDump> read_dump(PlainData const& data, PlainValue const& root);

/// More groups than any job has; calls of more are left out.
inline constexpr size_t kMostGroups = size_t{1} << 14U;

}  // namespace stepscope::import
