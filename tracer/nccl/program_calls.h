// What the program called and the launches that came of it, group by group: what NCCL tells from
// version 5 of the interface on.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tracer/nccl/open_call.h"
#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

struct ProgramCall {
  Call call;
  int64_t thread_id = 0;
  int64_t start_ns = 0;
};
struct LaunchSpan {
  uint64_t handle = 0;
  uint64_t communicator = 0;
  int64_t thread_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = -1;  ///< −1 = not yet
};
/// What is between ncclGroupStart and ncclGroupEnd, or one call outside of them.
struct CallGroup {
  std::vector<ProgramCall> calls;
  std::vector<LaunchSpan> launches;  ///< those of one thread in their order
  int64_t begun_ns = 0, heard_ns = 0;
};

/// Used by the writer thread alone. Groups are known by their handles.
class ProgramCalls {
 public:
  /// The group's calls that NCCL told it does.
  using Operations = std::unordered_map<uint64_t, std::vector<OpenCall*>>;

  void add(int64_t thread_id, Call const& call, int64_t now);
  void begin_launch(int64_t thread_id, Launch const& launch, int64_t now);
  void end_launch(uint64_t handle, int64_t now);

  /// 0 = not known, or no more.
  [[nodiscard]] uint64_t group_of(uint64_t program_call) const;
  /// The groups that will get nothing more: NCCL did what the program called, and that is settled;
  /// or the group has had its time.
  [[nodiscard]] std::vector<uint64_t> settled(int64_t now_ns, Operations const& operations) const;
  /// Nothing is known of the group afterwards.
  CallGroup take(uint64_t group);

  [[nodiscard]] size_t open_groups() const { return groups_.size(); }

 private:
  CallGroup& group(uint64_t handle, int64_t now);

  std::unordered_map<uint64_t, CallGroup> groups_;
  std::unordered_map<uint64_t, uint64_t> group_of_;  ///< by call or launch
};

}  // namespace stepscope::tracer::nccl
