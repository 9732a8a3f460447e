// Whether softmax kernels are part of attention: the kernels next to them on their stream show it.
#pragma once

#include <cstdint>

#include "trace/model/trace.h"

namespace stepscope::analyzer {

/// True where most softmax kernels of the device stand between products of matrices, as in
/// attention without a fused kernel; true too where the device has none. Looks at the first 1,000.
bool is_softmax_between_products(model::Trace const& trace, int32_t device);

}  // namespace stepscope::analyzer
