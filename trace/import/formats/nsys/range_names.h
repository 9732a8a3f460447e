// Names of ranges as they compare: without the numbers that make each call's its own.
#pragma once

#include <string_view>

namespace stepscope::import::nsys {

/// PyTorch's emit_nvtx appends a call's numbers and shapes to the operator's name, in one order and
/// form (torch/csrc/profiler/util.cpp, getNvtxStr). "aten::add, seq = 7, op_id = 12, sizes = [[2,
/// 3], []], input_op_ids = [(5,0)]" → "aten::add". Other names stay as they are.
std::string_view without_call_numbers(std::string_view name);

}  // namespace stepscope::import::nsys
