// The module's one function: opens the GPUs of a device specification (../cuda_module.h) as a group. Distinct GPUs exchange data
// by NCCL; logical devices that share a GPU do it themselves (NCCL before 2.30 does not take one GPU twice).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "workloads/backend/cuda/cuda_device.h"
#include "workloads/backend/cuda_module.h"

namespace stepscope::workloads::cuda {
namespace {

// The rest is for the context, and for what libraries and other programs take.
constexpr double kMemoryShare = 0.9;
constexpr int kOldestCapability = 8;

Expected<int> count_gpus() {
  int count = 0;
  auto known = to_expected(cudaGetDeviceCount(&count), "cuda: no GPU can be used");
  if (!known) return base::fail_with(known);
  if (count > 0) return count;
  return base::fail(
      "cuda: no GPU can be used: there is none, look at what nvidia-smi and stepscope doctor say, or use --device host");
}

Expected<void> check_gpu(int gpu, int count) {
  if (gpu >= count) {
    return base::fail("cuda:{}: there is no such GPU, {}", gpu,
                      count == 1 ? std::string("there is one: cuda:0") : fmt::format("there are cuda:0 to cuda:{}", count - 1));
  }
  int major = 0;
  auto known = to_expected(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), fmt::format("cuda:{}", gpu));
  if (known && major < kOldestCapability) {
    return base::fail("cuda:{}: is of compute capability {}.x, the kernels need 8.0 or newer: use another GPU or --device host",
                      gpu, major);
  }
  return known;
}

/// Memory that each of the `shares` devices of a GPU may hold.
Expected<uint64_t> capacity_of(int gpu, uint64_t shares, uint64_t limit) {
  if (limit != 0) return limit;
  size_t free_bytes = 0, total_bytes = 0;
  auto known = to_expected(cudaSetDevice(gpu), fmt::format("cuda:{}", gpu));
  if (known) known = to_expected(cudaMemGetInfo(&free_bytes, &total_bytes), fmt::format("cuda:{}", gpu));
  if (!known) return base::fail_with(known);
  return static_cast<uint64_t>(static_cast<double>(free_bytes) * kMemoryShare) / shares;
}

/// The kernel of an own exchange reads and writes the other members' memory.
Expected<void> let_see_each_other(std::map<int, uint64_t> const& uses) {
  for (auto const& [gpu, uses_of_gpu] : uses) {
    for (auto const& [other, uses_of_other] : uses) {
      if (gpu == other) continue;
      int possible = 0;
      cudaDeviceCanAccessPeer(&possible, gpu, other);
      cudaError_t error = cudaSetDevice(gpu);
      if (error == cudaSuccess && possible != 0) error = cudaDeviceEnablePeerAccess(other, 0);
      if (possible == 0 || (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled)) {
        return base::fail("cuda: GPU {} cannot see the memory of GPU {}, name each GPU once (then NCCL connects them) or use one",
                          gpu, other);
      }
      cudaGetLastError();  // "already enabled" stays behind
    }
  }
  return {};
}

Expected<void> connect(Exchange& group, std::vector<int> const& gpus, std::map<int, uint64_t> const& uses) {
  if (uses.size() == 1) return {};
  if (uses.size() < gpus.size()) return let_see_each_other(uses);
  auto const nccl = load_nccl();
  if (nccl) return group.use_nccl(*nccl, gpus);
  if (let_see_each_other(uses)) return {};  // slower, and right
  return base::fail_with(nccl);
}

Expected<DeviceGroup> open_gpus(std::vector<int> gpus, DeviceOptions const& options) {
  // Logical devices have three streams each: with the default of eight queues one device's wait could hold another's work.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  auto const count = count_gpus();
  if (!count) return base::fail_with(count);
  if (gpus.empty()) {
    gpus.resize(static_cast<size_t>(*count));
    std::iota(gpus.begin(), gpus.end(), 0);
  }
  std::map<int, uint64_t> uses;
  for (int const gpu : gpus) ++uses[gpu];
  for (auto const& [gpu, times] : uses) {
    if (auto good = check_gpu(gpu, *count); !good) return base::fail_with(good);
  }
  auto libraries = load_libraries();
  if (!libraries) return base::fail_with(libraries);
  std::map<int, uint64_t> capacities;
  for (auto const& [gpu, times] : uses) {
    auto const capacity = capacity_of(gpu, times, options.memory_limit_bytes);
    if (!capacity) return base::fail_with(capacity);
    capacities[gpu] = *capacity;
  }
  auto group = std::make_shared<Exchange>(static_cast<uint32_t>(gpus.size()));
  if (auto connected = connect(*group, gpus, uses); !connected) return base::fail_with(connected);
  DeviceGroup opened;
  opened.communicator = group;
  opened.members = group->members();
  for (uint32_t index = 0; index < gpus.size(); ++index) {
    int const gpu = gpus[index];
    auto const before = std::count(gpus.begin(), gpus.begin() + index, gpu);
    std::string name = uses[gpu] == 1 ? fmt::format("cuda:{}", gpu) : fmt::format("cuda:{}#{}", gpu, before);
    auto device =
        CudaDevice::create({index, gpu, std::move(name), capacities[gpu], options.faults, options.precision}, *libraries, *group);
    if (!device) return base::fail_with(device);
    if (!options.memory_growth) {
      if (auto reserved = (*device)->reserve_memory(); !reserved) return base::fail_with(reserved);
    }
    opened.devices.push_back(std::move(*device));
  }
  return opened;
}

}  // namespace
}  // namespace stepscope::workloads::cuda

extern "C" __attribute__((visibility("default"))) void stepscope_open_gpus(
    std::vector<int> const& gpus, stepscope::workloads::DeviceOptions const& options,
    stepscope::workloads::Expected<stepscope::workloads::DeviceGroup>& result) {
  result = stepscope::workloads::cuda::open_gpus(gpus, options);
}
