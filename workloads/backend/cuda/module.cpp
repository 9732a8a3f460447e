// The module's one function: opens the GPUs of a device specification (../cuda_module.h) as a
// group. Distinct GPUs exchange data by NCCL, those of several processes too; logical devices that
// share a GPU do it themselves (NCCL before 2.30 does not take one GPU twice).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "mpi/processes.h"
#include "trace/base/files/shared_library.h"
#include "workloads/backend/cuda/cuda_device.h"
#include "workloads/backend/cuda/process_gpus.h"
#include "workloads/backend/cuda_module.h"

namespace stepscope::workloads::cuda {
namespace {

// The rest is for the context, and for what libraries and other programs take.
constexpr double kMemoryShare = 0.9;
constexpr int kOldestCapability = 8;

Expected<int> count_gpus() {
  // The runtime would load it as it is, and the loader end the program.
  if (auto const whole = base::check_shared_library("libcuda.so.1", base::library_folders());
      !whole) {
    return base::fail("cuda: no GPU can be used: {}, or use --device host", whole.error().message);
  }

  int count = 0;
  auto known = to_expected(cudaGetDeviceCount(&count), "cuda: no GPU can be used");
  if (!known) return base::fail_with(known);
  if (count > 0) return count;
  return base::fail(
      "cuda: no GPU can be used: there is none, look at what nvidia-smi and stepscope doctor say, "
      "or use --device host");
}

Expected<void> check_gpu(int gpu, int count) {
  if (gpu >= count) {
    return base::fail("cuda:{}: there is no such GPU, {}", gpu,
                      count == 1 ? std::string("there is one: cuda:0")
                                 : fmt::format("there are cuda:0 to cuda:{}", count - 1));
  }

  int major = 0;
  auto known = to_expected(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu),
                           fmt::format("cuda:{}", gpu));
  if (known && major < kOldestCapability) {
    return base::fail(
        "cuda:{}: is of compute capability {}.x, the kernels need 8.0 or newer: use another GPU or "
        "--device host",
        gpu, major);
  }
  return known;
}

/// Memory that each of the `shares` devices of a GPU may hold.
Expected<uint64_t> capacity_of(int gpu, uint64_t shares, uint64_t limit) {
  if (limit != 0) return limit;
  size_t free_bytes = 0, total_bytes = 0;
  auto known = to_expected(cudaSetDevice(gpu), fmt::format("cuda:{}", gpu));
  if (known)
    known = to_expected(cudaMemGetInfo(&free_bytes, &total_bytes), fmt::format("cuda:{}", gpu));
  if (!known) return base::fail_with(known);
  return static_cast<uint64_t>(static_cast<double>(free_bytes) * kMemoryShare) / shares;
}

/// On stderr. Once a process, which may open devices again and again.
void say_once(std::string const& text) {
  static bool is_said = false;
  if (!std::exchange(is_said, true)) fmt::print(stderr, "stepscope: {}\n", text);
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
        return base::fail(
            "cuda: GPU {} cannot see the memory of GPU {}, name each GPU once (then NCCL connects "
            "them) or use one",
            gpu, other);
      }

      cudaGetLastError();  // "already enabled" stays behind
    }
  }
  return {};
}

Expected<void> connect(Exchange& group, std::vector<int> const& gpus,
                       std::map<int, uint64_t> const& uses) {
  if (uses.size() == 1) return {};
  if (uses.size() < gpus.size()) return let_see_each_other(uses);

  auto const nccl = load_nccl();
  if (!nccl) {
    if (auto const seen = let_see_each_other(uses); !seen) return base::fail_with(nccl);
    say_once(nccl.error().message +
             "; until then the GPUs exchange data by kernels of Stepscope: slower, and right");
    return {};
  }

  auto connected = NcclGroup::connect(*nccl, gpus);
  if (!connected) return base::fail_with(connected);
  group.use_nccl(std::move(*connected));
  return {};
}

// Devices of several processes.

/// The GPU's id, the same for every process that sees it.
Expected<std::string> id_of(int gpu) {
  cudaDeviceProp properties = {};
  if (auto known =
          to_expected(cudaGetDeviceProperties(&properties, gpu), fmt::format("cuda:{}", gpu));
      !known)
    return base::fail_with(known);
  std::string id;
  for (char const byte : properties.uuid.bytes)
    id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return id;
}

Expected<GpuView> look_around(GpuNames const& names, mpi::Peers const& peers) {
  auto const count = count_gpus();
  if (!count) return base::fail_with(count);
  GpuView view = {names, peers.local_rank(), {}};
  for (int gpu = 0; gpu < *count; ++gpu) {
    auto id = id_of(gpu);
    if (!id) return base::fail_with(id);
    view.visible.push_back(std::move(*id));
  }
  return view;
}

/// What each process takes. All must call it.
Expected<std::vector<GpuChoice>> agree_on_gpus(GpuNames const& names, mpi::Peers& peers) {
  auto const mine = look_around(names, peers);
  Expected<void> ready;
  if (!mine) ready = base::fail_with(mine);
  if (auto all = peers.agree(ready); !all) return base::fail_with(all);
  std::vector<std::string> const packed = peers.all_gather(pack(*mine));
  if (auto const gone = peers.failure()) return base::fail("{}", *gone);
  std::vector<GpuView> views;
  for (std::string const& view : packed) views.push_back(unpack(view));
  return choose_gpus(views);
}

/// All processes must call it; `ready`: whether this one has what it needs.
Expected<void> connect_processes(Exchange& group, NcclGroup::Local const& local, mpi::Peers& peers,
                                 Expected<void> ready) {
  Expected<Nccl> nccl;
  if (ready) nccl = load_nccl();
  if (ready && !nccl) ready = base::fail_with(nccl);
  if (auto all = peers.agree(ready); !all) return all;
  auto connected = NcclGroup::connect(*nccl, local, peers);
  if (!connected) return base::fail_with(connected);
  group.use_nccl(std::move(*connected));
  return {};
}

// Opening.

/// The GPUs that are meant.
struct Meant {
  std::vector<int> gpus;            ///< of this process, one for each device
  std::map<int, uint64_t> devices;  ///< on each of them, of all processes
  bool shared_with_others = false;  ///< by any two processes
};
Expected<Meant> find_gpus(GpuNames const& names, mpi::Peers* peers) {
  Meant meant;
  if (peers != nullptr) {
    auto const choices = agree_on_gpus(names, *peers);
    if (!choices) return base::fail_with(choices);
    GpuChoice const& mine = (*choices)[peers->rank()];
    meant.gpus = mine.gpus;
    meant.shared_with_others = share_gpus(*choices);
    for (size_t i = 0; i < mine.gpus.size(); ++i) meant.devices[mine.gpus[i]] = mine.sharers[i];
    return meant;
  }

  meant.gpus = names.gpus;
  if (meant.gpus.empty()) {
    auto const count = count_gpus();
    if (!count) return base::fail_with(count);
    meant.gpus.resize(static_cast<size_t>(*count));
    std::iota(meant.gpus.begin(), meant.gpus.end(), 0);
  }

  for (int const gpu : meant.gpus) ++meant.devices[gpu];
  return meant;
}

/// What devices on them need.
struct Prepared {
  std::map<int, uint64_t> capacities;  ///< of a device on the GPU
  std::shared_ptr<Libraries const> libraries;
};
Expected<Prepared> prepare(Meant const& meant, uint64_t memory_limit) {
  Prepared prepared;
  auto const count = count_gpus();
  if (!count) return base::fail_with(count);

  for (auto const& [gpu, devices] : meant.devices) {
    if (auto good = check_gpu(gpu, *count); !good) return base::fail_with(good);
  }

  auto libraries = load_libraries();
  if (!libraries) return base::fail_with(libraries);
  prepared.libraries = std::move(*libraries);

  for (auto const& [gpu, devices] : meant.devices) {
    auto const capacity = capacity_of(gpu, devices, memory_limit);
    if (!capacity) return base::fail_with(capacity);
    prepared.capacities[gpu] = *capacity;
  }

  return prepared;
}

/// NCCL's guide, "Concurrency between NCCL and CUDA calls": what waits for a device, as cudaFree
/// does, between the launches of a collective on several GPUs of a process can hang.
tl::unexpected<base::Error> refuse_freeing() {
  return base::fail(
      "--pathology alloc-every-step frees GPU memory while other threads launch NCCL's "
      "collectives, which may hang: use one GPU, or several devices on it (--device "
      "cuda:0,cuda:0)");
}

Expected<DeviceGroup> open_gpus(GpuNames const& names, DeviceOptions const& options) {
  // Logical devices have three streams each: with the default of eight queues one device's wait
  // could hold another's work.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);

  std::shared_ptr<mpi::Peers> const peers = options.processes;
  auto const meant = find_gpus(names, peers.get());
  if (!meant) return base::fail_with(meant);
  std::vector<int> const& gpus = meant->gpus;
  auto const local = static_cast<uint32_t>(gpus.size());

  auto group = std::make_shared<Exchange>(local * (peers ? peers->size() : 1), peers);
  auto prepared = prepare(*meant, options.memory_limit_bytes);
  Expected<void> connected;
  if (!prepared) connected = base::fail_with(prepared);
  bool const frees_between_launches = options.faults.uncached_memory && local > 1;
  // Processes use NCCL, and all of them refuse what one does.
  if (connected && peers && frees_between_launches) connected = refuse_freeing();

  if (peers) {
    auto const activate = [](int gpu) { cudaSetDevice(gpu); };
    connected =
        connect_processes(*group, {gpus, activate, meant->shared_with_others}, *peers, connected);
  } else if (connected) {
    connected = connect(*group, gpus, meant->devices);
  }
  if (!connected) return base::fail_with(connected);
  if (frees_between_launches && group->has_nccl()) return refuse_freeing();

  DeviceGroup opened;
  opened.communicator = group;
  opened.members = group->members();
  opened.first_member = group->first_member();

  for (uint32_t index = 0; index < local; ++index) {
    int const gpu = gpus[index];
    auto const before = std::count(gpus.begin(), gpus.begin() + index, gpu);
    bool const is_alone = std::count(gpus.begin(), gpus.end(), gpu) == 1;
    std::string name =
        is_alone ? fmt::format("cuda:{}", gpu) : fmt::format("cuda:{}#{}", gpu, before);

    auto device = CudaDevice::create({index, opened.first_member + index, gpu, std::move(name),
                                      prepared->capacities[gpu], options.faults, options.precision},
                                     prepared->libraries, *group);
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
    stepscope::workloads::GpuNames const& names, stepscope::workloads::DeviceOptions const& options,
    stepscope::workloads::Expected<stepscope::workloads::DeviceGroup>& result) {
  result = stepscope::workloads::cuda::open_gpus(names, options);
}
