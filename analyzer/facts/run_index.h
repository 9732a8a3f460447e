// What every fact starts from: the devices of a run, each with its device ops over all streams in order of start. O(n log
// streams).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"

namespace stepscope::analyzer {

/// One device of one process. Rows are rows of rank().trace; instants are run time.
struct DeviceIndex {
  DeviceRef ref;
  model::RankTrace const* rank = nullptr;
  std::string name;
  uint64_t capacity_bytes = 0;
  std::vector<model::TrackId> streams;
  std::vector<uint32_t> ops;  ///< device ops of all streams by (start, track)

  [[nodiscard]] model::Trace const& trace() const { return rank->trace; }
  [[nodiscard]] int64_t start(uint32_t row) const { return rank->trace.start(row) + rank->offset_ns; }
  [[nodiscard]] int64_t end(uint32_t row) const { return rank->trace.end(row) + rank->offset_ns; }
  [[nodiscard]] Interval when(uint32_t row) const { return {start(row), end(row)}; }
  /// The launch of a device op, if the trace has it.
  [[nodiscard]] std::optional<uint32_t> launch_of(uint32_t row) const {
    model::EventId const link = rank->trace.columns().link[row];
    return link.valid() ? std::optional(link.value) : std::nullopt;
  }
};

/// Those of one process, by ref.
std::vector<DeviceIndex> index_devices(model::RankTrace const& rank, int32_t rank_index);

/// All devices by ref: those that a trace describes and those that only have streams.
std::vector<DeviceIndex> index_devices(model::Run const& run);

/// First start to last end of the device ops; {0, 0} without any.
Interval op_window(DeviceIndex const& device);

}  // namespace stepscope::analyzer
