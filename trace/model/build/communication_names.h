// Finds kernels that communicate by their names. Calls of the communication library, where it
// reports any, say more (collective_merge.h).
#pragma once

#include <string_view>

#include "trace/model/details.h"

namespace stepscope::model {

/// Whether a kernel of this name moves data between ranks or waits for them. Such kernels belong to
/// communication libraries (NCCL, RCCL, oneCCL, NVSHMEM, …) or to frameworks: all-reduces of vLLM,
/// SGLang, TensorRT-LLM, FlashInfer and PyTorch, and DeepEP. The name may be mangled. A kernel that
/// multiplies matrices, too, computes.
bool is_communication_kernel(std::string_view name);

/// What the name says: operation, and of NCCL's and RCCL's algorithm and protocol; kUnknown where
/// it does not. "SendRecv" may be a send, a receive, or many of both: kUnknown.
CollectiveDetail collective_of_kernel(std::string_view name);

/// "allreduce", "_allgather_base", "reduce_scatter_tensor_coalesced", "ncclAllReduce" → the
/// operation.
CollectiveOp collective_op_of(std::string_view name);

}  // namespace stepscope::model
