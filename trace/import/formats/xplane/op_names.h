// Reads the names and texts by which XLA's profilers describe device ops: operations of a compiled
// program, copies and fills of CUPTI and ROCm, launch shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/model/details.h"
#include "trace/model/kinds.h"

namespace stepscope::import {

/// What an operation is to the device whose timeline it is on.
enum class OpRole : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCollective,
  kControlFlow,  ///< encloses the operations that it runs: a loop, a branch, a call
  kAsync,        ///< the begin or end of an operation that the name does not describe further
  kNoWork        ///< tells of memory, not of work
};

/// An operation that runs in parallel with others begins and ends with two short ones.
enum class OpPhase : uint8_t { kWhole, kStart, kDone };

struct OpMeaning {
  OpRole role = OpRole::kKernel;
  OpPhase phase = OpPhase::kWhole;
  model::CollectiveOp collective = model::CollectiveOp::kUnknown;
  model::CollectiveAlgorithm algorithm = model::CollectiveAlgorithm::kUnknown;
  model::CollectiveProtocol protocol = model::CollectiveProtocol::kUnknown;
  model::CopyDirection direction = model::CopyDirection::kUnknown;
};

/// The meaning of an op on a stream, by its name: "MemcpyH2D", "__amd_rocclr_copyBuffer.kd",
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL".
OpMeaning meaning_of_stream_op(std::string_view name);

/// The meaning of an operation of a compiled program: "all-gather-start.3" or "%fusion.7 = f32[8]
/// fusion(...)", with its hlo_category, which may be empty. A collective permute is a send: every
/// participant sends its data to one other. HLO always has two operations for a send or receive: an
/// operation that is not the end is the begin.
OpMeaning meaning_of_xla_op(std::string_view name, std::string_view category);

/// "all-gather-start.3", "%all-gather-done = ..." → "all-gather": the same for the begin and the
/// end of an operation.
std::string_view xla_opcode(std::string_view name);
/// "all-gather-start.3" → 3; nothing when it has no number.
std::optional<uint64_t> xla_op_number(std::string_view name);

/// "regs:32 static_shared:0 dynamic_shared:512 grid:8,1,1 block:256,1,1 occ_pct:50", and ROCm's
/// "grid:… group_mem:…".
model::KernelDetail parse_kernel_details(std::string_view text);
/// "kind_src:pinned kind_dst:device size:4096 dest:1 async:1", "kind:device num_bytes:64 async:1".
/// The direction is not in it; the destination is kept for the one who knows that it is a peer.
model::CopyDetail parse_copy_details(std::string_view text);

}  // namespace stepscope::import
