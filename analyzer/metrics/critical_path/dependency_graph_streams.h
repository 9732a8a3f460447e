// The device ops of a process by stream and by when they ended: what events, syncs and guesses look
// up; and which ops streams waited for.
#pragma once

#include "analyzer/metrics/critical_path/dependency_graph.h"

namespace stepscope::analyzer {

/// Numbers of ops in buckets.
class OpBuckets {
 public:
  /// `bucket_of`: of each op; the order of `ops` is kept within a bucket.
  OpBuckets(std::vector<uint32_t> const& ops, std::vector<uint32_t> const& bucket_of, size_t count);
  [[nodiscard]] std::span<uint32_t const> of(uint32_t bucket) const {
    return {ops_.data() + begins_[bucket], ops_.data() + begins_[bucket + 1]};
  }

 private:
  std::vector<uint32_t> begins_, ops_;
};

class StreamOps {
 public:
  /// `graph` has its ops; it must stay.
  StreamOps(std::span<DeviceOps const> devices, DependencyGraph const& graph);

  /// Indexed by op: the op of its device that ended last before it began or as it began. Ops that
  /// took no time are no reason for another's start.
  [[nodiscard]] std::vector<uint32_t> const& ended_before() const { return ended_before_; }
  /// The op that took time and ended last until the instant, that included; of equal ones the one
  /// that began last.
  [[nodiscard]] uint32_t last_ended(SyncScope scope, uint32_t scope_number, int64_t instant) const;
  /// The op of a stream before the first that was launched by this call or later; the first
  /// launched later.
  [[nodiscard]] uint32_t last_before_call(uint32_t stream, uint64_t correlation);
  [[nodiscard]] uint32_t first_after_call(uint32_t stream, uint64_t correlation);
  /// The first op of a stream behind this row.
  [[nodiscard]] uint32_t first_behind(uint32_t stream, uint32_t row) const;
  /// The track of a stream by what details call it; the place of a device among the process's.
  [[nodiscard]] std::optional<uint32_t> stream(int32_t device, int64_t id) const;
  [[nodiscard]] std::optional<uint32_t> device(int32_t id) const;

 private:
  void order_by_end(std::vector<uint32_t> const& device_of_op);
  std::vector<uint64_t> const& latest_calls(uint32_t stream);

  std::span<DeviceOps const> devices_;
  std::vector<GraphOp> const& ops_;
  struct Named {
    int32_t device;
    int64_t id;
    uint32_t track;
    friend auto operator<=>(Named const&, Named const&) = default;
  };
  std::vector<Named> streams_;
  std::vector<uint32_t> ended_before_;
  std::vector<uint32_t> by_end_;  ///< of the process
  std::optional<OpBuckets> in_order_, of_device_,
      of_stream_;  ///< by stream as they were queued; by end
  std::vector<std::vector<uint64_t>>
      latest_calls_;  ///< by track, when first asked for: the highest correlation up to each op
};

/// Sorted by op, then source; each source began before its op and was over when that began.
std::vector<PathWait> find_stream_waits(std::span<DeviceOps const> devices, StreamOps& streams,
                                        std::vector<GraphOp> const& ops);

}  // namespace stepscope::analyzer
