// NVIDIA's libraries that the backend calls, as tables of functions found at run time. None of them
// is linked, so that the module loads everywhere. Where one is missing the message says which and
// what to do.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

#include "trace/base/expected.h"
#include "workloads/backend/vendor_functions.h"

namespace stepscope::workloads::cuda {

#define STEPSCOPE_MEMBER(member, function) \
  decltype(&::function) member = nullptr;  // NOLINT(bugprone-macro-parentheses)
struct Cudnn {
  STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_MEMBER)
};
struct CublasLt {
  STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_MEMBER)
};
struct Nccl {
  STEPSCOPE_NCCL_FUNCTIONS(STEPSCOPE_MEMBER)
  STEPSCOPE_NEWER_NCCL_FUNCTIONS(STEPSCOPE_MEMBER)
};
#undef STEPSCOPE_MEMBER

struct Libraries {
  Cudnn cudnn;
  CublasLt cublas;
};
/// Errors: a library is missing or too old.
base::Expected<std::shared_ptr<Libraries const>> load_libraries();
/// What several GPUs need, in addition.
base::Expected<Nccl> load_nccl();

}  // namespace stepscope::workloads::cuda
