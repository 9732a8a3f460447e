// Looking up NVIDIA's functions; see libraries.h.
#include "workloads/backend/cuda/libraries.h"

#include <array>

#include "workloads/backend/vendor_library.h"

namespace stepscope::workloads::cuda {
namespace {

/// `missing`: of the library at `path`.
base::Expected<void> complete(char const* missing, std::string const& path, char const* advice) {
  if (missing == nullptr) return {};
  return base::fail("cuda: {} has no {}: {}", path, missing, advice);
}

// The function's name is looked up for each member; the error names the first that is missing.
#define STEPSCOPE_FIND(member, function) \
  if (!library->find(#function, table.member) && missing == nullptr) missing = #function;
#define STEPSCOPE_FIND_NEWER(member, function) \
  static_cast<void>(library->find(#function, table.member));

constexpr char const* kCudnnAdvice =
    "install cuDNN 9 (python3 -m pip install nvidia-cudnn-cu13) or use --device host";
constexpr char const* kCublasAdvice =
    "install the CUDA toolkit (or python3 -m pip install nvidia-cublas) or use --device host";
constexpr char const* kNcclAdvice =
    "install NCCL 2.14 or newer (python3 -m pip install nvidia-nccl-cu13) or use one GPU";

base::Expected<void> load(Cudnn& table) {
  constexpr std::array kNames = {"libcudnn.so.9"};
  auto const library = VendorLibrary::open(kNames, "convolutions need cuDNN 9", kCudnnAdvice);
  if (!library) return base::fail_with(library);
  char const* missing = nullptr;
  STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_FIND)
  return complete(missing, library->path(), kCudnnAdvice);
}

base::Expected<void> load(CublasLt& table) {
  // The same interface in both; the newer one fits the runtime that is linked.
  constexpr std::array kNames = {"libcublasLt.so.13", "libcublasLt.so.12"};
  auto const library = VendorLibrary::open(kNames, "matrix products need cuBLASLt", kCublasAdvice);
  if (!library) return base::fail_with(library);
  char const* missing = nullptr;
  STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_FIND)
  return complete(missing, library->path(), kCublasAdvice);
}

}  // namespace

base::Expected<std::shared_ptr<Libraries const>> load_libraries() {
  auto libraries = std::make_shared<Libraries>();
  // cuBLASLt first: cuDNN opens it by its soname and then gets this one, wherever it was found.
  if (auto loaded = load(libraries->cublas); !loaded) return base::fail_with(loaded);
  if (auto loaded = load(libraries->cudnn); !loaded) return base::fail_with(loaded);
  return libraries;
}

base::Expected<Nccl> load_nccl() {
  constexpr std::array kNames = {"libnccl.so.2"};
  auto const library =
      VendorLibrary::open(kNames, "several GPUs exchange data by NCCL", kNcclAdvice);
  if (!library) return base::fail_with(library);

  Nccl table;
  char const* missing = nullptr;
  STEPSCOPE_NCCL_FUNCTIONS(STEPSCOPE_FIND)
  if (auto whole = complete(missing, library->path(), kNcclAdvice); !whole)
    return base::fail_with(whole);
  STEPSCOPE_NEWER_NCCL_FUNCTIONS(STEPSCOPE_FIND_NEWER)
  return table;
}

}  // namespace stepscope::workloads::cuda
