// Kernels of translated PTX, and how the objects that nvcc makes of the same sources launch them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stepscope::cuda_emulation::ptx {

struct TranslatedKernel {
  std::string mangled_name;
  void (*run)(void* const* parameters);  ///< one thread
  std::vector<size_t> parameter_bytes;
  unsigned most_threads;  ///< of a block
  size_t shared_bytes;    ///< of its arrays, without what a launch adds
};

/// Kernels that were added later take the place of others with their names: a mutant is loaded in
/// front of what it changes. Always true.
bool add_kernels(std::vector<TranslatedKernel> const& kernels);

}  // namespace stepscope::cuda_emulation::ptx
