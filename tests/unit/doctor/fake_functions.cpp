// The functions of NVIDIA's libraries that are only looked for. The linker prefers functions of the
// same name in fake_nvidia.cpp.
#include "workloads/backend/vendor_functions.h"

// Named as NVIDIA's are.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

#define STEPSCOPE_FAKE(member, function) \
  __attribute__((weak)) void function() {}
STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_FAKE)
STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_FAKE)
STEPSCOPE_NCCL_FUNCTIONS(STEPSCOPE_FAKE)
#undef STEPSCOPE_FAKE

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
