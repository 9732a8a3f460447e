// What every fact starts from: the devices of a run, each with its device ops over all streams in
// order of start. O(n log streams).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Columns of a trace by plain pointers: who goes through many rows, and writes numbers on the way,
/// does not look them up in the trace again for each row. Instants are run time.
class RowView {
 public:
  explicit RowView(model::RankTrace const& rank)
      : start_(rank.trace.columns().start.data()),
        dur_(rank.trace.columns().dur.data()),
        kind_(rank.trace.columns().kind.data()),
        name_(rank.trace.columns().name.data()),
        link_(rank.trace.columns().link.data()),
        track_(rank.trace.columns().track.data()),
        offset_ns_(rank.offset_ns) {}

  [[nodiscard]] int64_t start(uint32_t row) const { return start_[row] + offset_ns_; }
  [[nodiscard]] int64_t end(uint32_t row) const { return start_[row] + dur_[row] + offset_ns_; }
  [[nodiscard]] int64_t dur(uint32_t row) const { return dur_[row]; }
  [[nodiscard]] Interval when(uint32_t row) const {
    int64_t const begin = start(row);
    return {begin, begin + dur_[row]};
  }
  [[nodiscard]] model::EventKind kind(uint32_t row) const { return kind_[row]; }
  [[nodiscard]] model::OpClass op_class(uint32_t row) const {
    return model::kKindTable[static_cast<size_t>(kind_[row])]
        .op_class;  // a trace has no other kinds
  }
  [[nodiscard]] bool is_op(uint32_t row) const { return op_class(row) != model::OpClass::kNone; }
  [[nodiscard]] model::StringId name(uint32_t row) const { return name_[row]; }
  [[nodiscard]] model::TrackId track(uint32_t row) const { return track_[row]; }
  /// The launch of a device op, or a launch's first op; not valid where the trace has none.
  [[nodiscard]] model::EventId link(uint32_t row) const { return link_[row]; }

 private:
  int64_t const* start_;
  int64_t const* dur_;
  model::EventKind const* kind_;
  model::StringId const* name_;
  model::EventId const* link_;
  model::TrackId const* track_;
  int64_t offset_ns_;
};

/// One device of one process. Rows are rows of rank().trace; instants are run time.
struct DeviceOps {
  DeviceRef ref;
  model::RankTrace const* rank = nullptr;
  std::string name;
  uint64_t capacity_bytes = 0;
  std::vector<model::TrackId> streams;
  std::vector<uint32_t> ops;  ///< device ops of all streams by (start, track)

  [[nodiscard]] model::Trace const& trace() const { return rank->trace; }
  [[nodiscard]] RowView rows() const { return RowView(*rank); }
  [[nodiscard]] int64_t start(uint32_t row) const {
    return rank->trace.start(row) + rank->offset_ns;
  }
  [[nodiscard]] int64_t end(uint32_t row) const { return rank->trace.end(row) + rank->offset_ns; }
  [[nodiscard]] Interval when(uint32_t row) const { return {start(row), end(row)}; }
  /// The launch of a device op, if the trace has it.
  [[nodiscard]] std::optional<uint32_t> launch_of(uint32_t row) const {
    model::EventId const link = rank->trace.columns().link[row];
    return link.valid() ? std::optional(link.value) : std::nullopt;
  }
};

/// The devices of one process, by ref.
std::vector<DeviceOps> index_devices(model::RankTrace const& rank, int32_t rank_index);

/// All devices by ref: those that a trace describes and those that only have streams.
std::vector<DeviceOps> index_devices(model::Run const& run);

/// First start to last end of the device ops; {0, 0} without any.
Interval op_window(DeviceOps const& device);

/// Whether the launch call of any device op is known, or a device marks its steps itself.
bool has_launches(std::vector<DeviceOps> const& devices);

}  // namespace stepscope::analyzer
