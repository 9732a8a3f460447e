// Names of the CUDA APIs' functions by the numbers of the toolkit's headers.
#pragma once

#include <cupti.h>

namespace stepscope::cuda_doubles {

/// As cuptiGetCallbackName() spells it: cudaLaunchKernel_v7000, cuLaunchKernel. Null = no such
/// number.
char const* function_name(CUpti_CallbackDomain domain, uint32_t number);

}  // namespace stepscope::cuda_doubles
