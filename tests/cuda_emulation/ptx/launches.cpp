// The functions of CUDA's runtime that objects call which nvcc has made: they register a program's
// kernels when it begins and launch them. The signatures are those of the toolkit's own headers in
// its folder crt.
#include "tests/cuda_emulation/ptx/launches.h"

#include <cxxabi.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "tests/cuda_emulation/emulator.h"
#include "tests/cuda_emulation/ptx/memory.h"

namespace stepscope::cuda_emulation::ptx {
namespace {

/// With a name for messages, which launches refer to.
struct KnownKernel {
  TranslatedKernel kernel;
  std::string name;
};

struct Program {
  std::map<std::string, KnownKernel> kernels;       ///< by mangled name
  std::map<void const*, std::string> name_of_stub;  ///< the host's function that launches it
  std::vector<LaunchShape> configurations;          ///< of `<<<…>>>` that were not launched yet
};
/// Objects register their kernels before main().
Program& program() {
  static auto* const one = new Program;
  return *one;
}

std::string demangled(std::string const& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

KnownKernel const& kernel_of(void const* stub) {
  auto const name = program().name_of_stub.find(stub);
  auto const known = name == program().name_of_stub.end() ? program().kernels.end()
                                                          : program().kernels.find(name->second);
  if (known != program().kernels.end()) return known->second;
  std::fprintf(stderr, "a kernel is launched whose PTX was not translated\n");
  std::abort();
}

/// The launch's own copy of its arguments, as CUDA keeps one.
struct Arguments {
  std::vector<std::vector<char>> values;
  std::vector<void*> pointers;

  Arguments(std::vector<size_t> const& sizes, void* const* from) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto const* const bytes = static_cast<char const*>(from[i]);
      values.emplace_back(bytes, bytes + sizes[i]);
    }
    for (std::vector<char>& value : values) pointers.push_back(value.data());
  }
};

}  // namespace

bool add_kernels(std::vector<TranslatedKernel> const& kernels) {
  for (TranslatedKernel const& kernel : kernels)
    program().kernels.insert_or_assign(kernel.mangled_name,
                                       KnownKernel{kernel, demangled(kernel.mangled_name)});
  return true;
}

void launch(KnownKernel const& known, LaunchShape shape, void* const* from) {
  auto const& [kernel, name] = known;
  Arguments const arguments(kernel.parameter_bytes, from);
  shape.kernel = {name.c_str(), kernel.most_threads};
  shape.shared_bytes += kernel.shared_bytes;
  note_launch(kernel.mangled_name.c_str());

  begin_checks(shape.shared_bytes);
  run_grid(shape, [&] { kernel.run(arguments.pointers.data()); });
}

}  // namespace stepscope::cuda_emulation::ptx

// NOLINTBEGIN: the runtime's own names.
extern "C" {

using namespace stepscope::cuda_emulation;
using namespace stepscope::cuda_emulation::ptx;

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}

void __cudaRegisterFunction(void** /*handle*/, char const* stub, char* /*device_function*/,
                            char const* mangled_name, int /*thread_limit*/, uint3* /*thread*/,
                            uint3* /*block*/, dim3* /*block_size*/, dim3* /*grid_size*/,
                            int* /*warp_size*/) {
  program().name_of_stub[stub] = mangled_name;
  register_site(mangled_name);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* /*stream*/) {
  program().configurations.push_back({{}, grid, block, shared_bytes});
  return 0;
}
int __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  LaunchShape const& last = program().configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<void**>(stream) = nullptr;
  program().configurations.pop_back();
  return 0;
}

int __cudaGetKernel(void const** kernel, void const* stub) {
  *kernel = &kernel_of(stub);
  return 0;
}
int __cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments,
                       size_t shared_bytes, void* /*stream*/) {
  launch(*static_cast<KnownKernel const*>(kernel), {{}, grid, block, shared_bytes}, arguments);
  return 0;
}

}  // extern "C"
// NOLINTEND
