// Kernels that communicate, told from their names: for traces whose tool does not say more of them.
#pragma once

#include <string_view>

#include "trace/model/details.h"

namespace stepscope::import {

/// Whether a kernel of this name belongs to a communication library (NCCL, RCCL, oneCCL, NVSHMEM, DeepEP, MSCCL).
bool is_communication_kernel(std::string_view name);

/// What NCCL's and RCCL's names say: operation, algorithm and protocol; kUnknown where they do not. "SendRecv" may be a send, a
/// receive, or many of both: kUnknown.
model::CollectiveDetail collective_of_kernel(std::string_view name);

/// "allreduce", "_allgather_base", "reduce_scatter_tensor_coalesced", "ncclAllReduce" → the operation.
model::CollectiveOp collective_op_of(std::string_view name);

}  // namespace stepscope::import
