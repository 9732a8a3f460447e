// What one rank does in every step, as a list of actions: the patterns write such lists, Process
// plays them. A collective is one action of each participant; it ends when all have come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/model/details.h"
#include "trace/model/ids.h"
#include "trace/model/kinds.h"

namespace stepscope::synth {

/// A kernel as profilers show it: the framework's operation around the launch, the symbol, its
/// usual duration.
struct KernelSpec {
  std::string_view op;
  std::string_view name;
  int64_t dur_ns;
  model::KernelDetail detail;
};

struct StreamSpec {
  std::string name;
  model::StreamKind kind;
};
/// Memory of every synthetic device.
inline constexpr uint64_t kCapacityBytes = 80ULL << 30;

/// Positions in Program::streams that every program has; those of collectives and of more work
/// follow.
inline constexpr uint32_t kComputeStream = 0, kCopyStream = 1, kFirstCommStream = 2;

struct CollectiveSpec {
  uint32_t join = 0;  ///< number within a step, the same for all participants
  uint32_t stream = kFirstCommStream;
  model::StringId op, name;  ///< of the framework's call and of the kernel
  model::CollectiveOp kind = model::CollectiveOp::kAllReduce;
  uint64_t bytes = 0;
  uint64_t communicator = 0;
  uint32_t place = 0;         ///< among the collectives of the communicator in a step
  uint32_t per_step = 1;      ///< how many those are
  uint32_t participants = 0;  ///< ranks that meet
  int32_t rank = -1;          ///< in the communicator; −1 = the process's own
  int32_t peer = -1;          ///< of a send or receive
  int64_t transfer_ns = 0;    ///< from the last arrival to the end
  bool is_slow_part = false;  ///< crosses the links of the faults `slow-pair`, `slow-group`
  bool can_rendezvous =
      false;  ///< in steps of the fault `peer` it starts only once all participants are launched
};

struct BlockSpec {
  uint64_t bytes = 0;
  model::MemoryPurpose purpose = model::MemoryPurpose::kActivations;
};

// The actions.
struct BeginRange {
  model::StringId name;
  model::EventKind kind;
};
struct EndRange {};
struct RunKernel {
  model::StringId op, name;
  int64_t dur_ns;  ///< usually
  int32_t expert;  ///< number of the expert layer whose share of tokens stretches it; −1 = none
  uint32_t stream;
  model::KernelDetail detail;
};
struct RunCopy {
  model::StringId op, name;
  uint64_t bytes;
  model::CopyDirection direction;
  int64_t dur_ns;
  uint32_t stream;
  bool pinned;  ///< else the call returns when the copy is over
};
/// The compute stream goes on after what the copy stream was given; in steps of the fault
/// `dependency` later.
struct AwaitCopy {};
/// One stream goes on after what another one was given.
struct AwaitStream {
  uint32_t waiting, source;
  bool by_default_stream;  ///< implicit: one of them is the default stream
};
/// The host is busy with something else.
struct HostWork {
  model::StringId name;  ///< of its range; the empty text = without one
  int64_t dur_ns;
};
struct JoinCollective {
  uint32_t number;  ///< in Program::collectives
};
/// The compute stream goes on after the collective.
struct AwaitCollective {
  uint32_t join;
  uint32_t stream;
};
struct Allocate {
  uint32_t block;  ///< in Program::blocks
};
struct Free {
  uint32_t block;
};
/// Device memory is asked of the driver and, with `free`, given back: then the call waits for the
/// device first.
struct CallDriver {
  uint32_t block;
  bool free;
  int64_t dur_ns;
};
/// Blocks of this total size that live for a step. Each is larger than a step before and followed
/// by a small one that stays, so that the gaps are always a little too small.
struct Churn {
  uint64_t bytes;
};
/// The host waits for everything it has launched, or for the compute stream alone, and comes back
/// so much later than usual.
struct Synchronize {
  int64_t late_ns = 0;
  bool of_compute = false;
};
/// The host waits for its batch; in steps of the fault `input` longer.
struct AwaitInput {};
/// Where the faults of the host happen: the device is idle here.
struct FaultPoint {};
/// Where the late rank of the fault `peer` pauses: the device is idle here.
struct LateEntry {};

using Action = std::variant<BeginRange, EndRange, RunKernel, RunCopy, AwaitCopy, AwaitStream,
                            HostWork, JoinCollective, AwaitCollective, Allocate, Free, CallDriver,
                            Churn, Synchronize, AwaitInput, FaultPoint, LateEntry>;

struct Program {
  std::vector<StreamSpec> streams;
  std::vector<BlockSpec> resident;  ///< allocated before the first step and kept
  std::vector<BlockSpec> blocks;    ///< allocated and freed in every step
  std::vector<CollectiveSpec> collectives;
  std::vector<Action> step;
  bool reads_input = true;  ///< has an AwaitInput: the fault `input` can happen to it
};

/// The programs of all ranks.
struct Schedule {
  std::vector<Program> programs;  ///< one for all ranks, or one a rank
  uint32_t joins = 0;             ///< in a step
  [[nodiscard]] Program const& of(int32_t rank) const {
    return programs[programs.size() == 1 ? 0 : static_cast<size_t>(rank)];
  }
};

}  // namespace stepscope::synth
