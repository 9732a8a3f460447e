// Which GPUs each of several processes takes. A process sees the GPUs of its machine, or those that
// the launcher gave to it alone; GPUs have ids that are the same in every process. So the
// processes tell each other what they see, and each finds the same answer for all: nothing has to
// be guessed from variables of a launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/backend/cuda_module.h"

namespace stepscope::workloads::cuda {

/// What a process tells the others.
struct GpuView {
  GpuNames wanted;
  uint32_t local_rank = 0;  ///< as its launcher says; 0 where it does not
  std::vector<std::string>
      visible;  ///< ids of the GPUs that it sees, by their numbers there; without spaces

  friend bool operator==(GpuView const&, GpuView const&) = default;
};
std::string pack(GpuView const& view);
/// The inverse of pack().
GpuView unpack(std::string const& packed);

/// What a process takes, by its own numbers.
struct GpuChoice {
  std::vector<int> gpus;
  std::vector<uint32_t> sharers;  ///< of each: devices of all processes that are on it

  friend bool operator==(GpuChoice const&, GpuChoice const&) = default;
};
/// What each process takes, from the `views` by rank. With "cuda" alone the processes that see the
/// same GPUs take one each, in the order of their local ranks. With "cuda:all" they divide them
/// evenly. Otherwise they take the GPUs that they name, and only then processes share a GPU.
/// Errors, the same for all: fewer GPUs than processes; a GPU that is not there; processes with
/// more GPUs than others. So is a GPU that a process names twice, or gets although another names
/// it.
base::Expected<std::vector<GpuChoice>> choose_gpus(std::vector<GpuView> const& views);
/// Whether two processes share a GPU.
bool share_gpus(std::vector<GpuChoice> const& choices);

}  // namespace stepscope::workloads::cuda
