// NCCL's names and numbers of functions, types, algorithms and protocols → ours. Runs in the
// program's threads: compares a few short texts, no more.
#pragma once

#include <cstdint>

#include "trace/model/details.h"

namespace stepscope::tracer::nccl {

// What is null or unknown becomes kUnknown.
model::CollectiveOp op_of(char const* function);
model::CollectiveOp op_of(uint8_t function);
model::DataType data_type_of(char const* name);
model::DataType data_type_of(uint8_t number);
model::CollectiveAlgorithm algorithm_of(char const* name);
model::CollectiveAlgorithm algorithm_of(uint8_t number);
model::CollectiveProtocol protocol_of(char const* name);
model::CollectiveProtocol protocol_of(uint8_t number);

}  // namespace stepscope::tracer::nccl
