// The functions of libnccl.so.2 that the backend calls. Kernels wait for each other on their
// streams: members of one process read each other's arrays, those of several go by shared memory
// (shared_group.h). The profiler plugin gets its events in NCCL's order
// (src/plugin/profiler.cc of NCCL 2.28 to 2.30). DOUBLE_NCCL_PLUGIN=5 or 6 is the newest version of
// the plugin's interface that it knows, DOUBLE_NCCL_VERSION=21701 the version that it tells.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_doubles/device/engine.h"
#include "tests/cuda_doubles/device/knobs.h"
#include "tests/cuda_doubles/nccl/shared_group.h"
#include "tracer/nccl/abi.h"

namespace stepscope::cuda_doubles {
namespace {

namespace abi = tracer::nccl;

/// One collective of a group: its members' kernels wait here.
struct Rendezvous {
  std::mutex mutex;
  std::condition_variable changed;
  size_t arrived = 0, left = 0;
  std::vector<float const*> send;
  std::vector<float*> receive;
  bool is_aborted = false;
};

struct Group {
  explicit Group(size_t members) : size(members) {}

  std::shared_ptr<Rendezvous> find(uint64_t sequence) {
    std::lock_guard const lock(mutex);
    auto& found = collectives[sequence];
    if (found == nullptr) {
      found = std::make_shared<Rendezvous>();
      found->send.resize(size);
      found->receive.resize(size);
    }
    return found;
  }
  void abort() {
    std::lock_guard const lock(mutex);
    for (auto const& [sequence, collective] : collectives) {
      std::lock_guard const inner(collective->mutex);
      collective->is_aborted = true;
      collective->changed.notify_all();
    }
  }

  size_t const size;
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Rendezvous>> collectives;
};

/// The profiler plugin that NCCL_PROFILER_PLUGIN names: one for all communicators.
class ProfilerPlugin {
 public:
  ProfilerPlugin() {
    char const* const path = std::getenv("NCCL_PROFILER_PLUGIN");
    void* const library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    constexpr int kNewest = 6;
    bool const is_v5 = number_of_knob("DOUBLE_NCCL_PLUGIN", kNewest) < kNewest;
    // Both versions have the same functions.
    table_ = static_cast<abi::PluginV6 const*>(
        ::dlsym(library, is_v5 ? "ncclProfiler_v5" : "ncclProfiler_v6"));
  }

  void* join(size_t ranks, size_t rank) {
    constexpr uint64_t kCommunicator = 0xC0FFEE;
    void* context = nullptr;
    if (table_ != nullptr)
      table_->init(&context, kCommunicator, &mask_, "", 1, static_cast<int>(ranks),
                   static_cast<int>(rank), nullptr);
    return context;
  }
  void leave(void* context) const {
    if (table_ != nullptr && context != nullptr) table_->finalize(context);
  }
  /// `fill(event)`: what is of the type. Null where the plugin wants no such event.
  template <class Fill>
  void* start(void* context, uint64_t type, void* parent, Fill const& fill) const {
    if (table_ == nullptr || (static_cast<uint64_t>(mask_) & type) == 0) return nullptr;
    abi::EventV6 event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.type = type;
    event.parent = parent;
    fill(event);

    void* handle = nullptr;
    table_->start_event(context, &handle, &event);
    return handle;
  }
  void stop(void* handle) const {
    if (handle != nullptr) table_->stop_event(handle);
  }

 private:
  abi::PluginV6 const* table_ = nullptr;
  int mask_ = 0;
};

ProfilerPlugin& plugin() {
  static ProfilerPlugin one;
  return one;
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NVIDIA's header declares this type.
struct ncclComm {
  std::shared_ptr<stepscope::cuda_doubles::Group> group;         ///< of one process
  std::shared_ptr<stepscope::cuda_doubles::SharedGroup> shared;  ///< of several, in place of it
  std::atomic<ncclResult_t> state{ncclSuccess};  ///< of the connecting, and of a call behind it
  std::thread connecting;  ///< or splitting, or in a call: one that does not block has a thread
  bool blocks = true;
  size_t rank = 0;
  int device = 0;
  uint64_t collectives = 0;
  void* plugin_context = nullptr;
};

namespace stepscope::cuda_doubles {
namespace {

struct Work {
  /// What a member computes once all have shown their arrays.
  std::function<void(Rendezvous& all, size_t rank, size_t members)> in_process;
  /// The whole of it where members are in several processes.
  std::function<void(SharedGroup& group)> between;
};

struct Call {
  char const* name;
  size_t count;
  int root;
  float const* send;
  float* receive;
  cudaStream_t stream;
};

/// Runs on the communication stream, as the kernel of NCCL that waits for its peers.
void meet(Rendezvous& all, Call const& call, size_t rank, size_t members, Work const& work) {
  std::unique_lock lock(all.mutex);
  all.send[rank] = call.send;
  all.receive[rank] = call.receive;
  if (++all.arrived == members) all.changed.notify_all();
  all.changed.wait(lock, [&] { return all.arrived == members || all.is_aborted; });
  if (all.is_aborted) return;

  lock.unlock();
  work.in_process(all, rank, members);
  lock.lock();

  if (++all.left == members) all.changed.notify_all();
  all.changed.wait(lock, [&] { return all.left == members || all.is_aborted; });
}

cudaError_t launch(ncclComm& communicator, Call const& call, Work work) {
  Operation operation;
  operation.kind = OperationKind::kKernel;
  operation.name = std::string("ncclDevKernel_") + call.name +
                   "_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  operation.grid = dim3(2);
  operation.block = dim3(512);

  if (communicator.shared != nullptr) {
    operation.work = [group = communicator.shared, work = std::move(work)] {
      work.between(*group);
    };
  } else {
    auto const collective = communicator.group->find(communicator.collectives);
    size_t const rank = communicator.rank, members = communicator.group->size;
    operation.work = [=, work = std::move(work)] { meet(*collective, call, rank, members, work); };
  }

  return launch_by_driver(call.stream, std::move(operation));
}

/// What the plugin calls the events of a call outside of ncclGroupStart().
struct Announced {
  void* group = nullptr;
  void* api_call = nullptr;
};

/// On the program's thread (collTaskAppend() in src/enqueue.cc).
Announced announce(ncclComm_t communicator, Call const& call) {
  ProfilerPlugin const& profiler = plugin();
  void* const context = communicator->plugin_context;

  Announced announced;
  announced.group = profiler.start(context, abi::kGroupCall, nullptr, [](abi::EventV6&) {});
  announced.api_call =
      profiler.start(context, abi::kCollectiveCall, announced.group, [&](abi::EventV6& event) {
        event.collective_call = {call.name, call.count, "ncclFloat32", call.root, call.stream, 0};
      });
  profiler.stop(announced.api_call);
  return announced;
}

/// Launch, plan and its task (doLaunches() in src/group.cc).
ncclResult_t enqueue(ncclComm_t communicator, Call const& call, Announced const& announced,
                     Work work) {
  engine()->set_current_device(communicator->device);
  ProfilerPlugin const& profiler = plugin();
  void* const context = communicator->plugin_context;
  auto const nothing = [](abi::EventV6&) {};

  void* const launching = profiler.start(context, abi::kKernelLaunch, announced.group, nothing);
  cudaError_t const error = launch(*communicator, call, std::move(work));
  profiler.stop(launching);

  void* const plan = profiler.start(context, abi::kGroup, nullptr, nothing);
  void* const task =
      profiler.start(context, abi::kCollective, announced.api_call, [&](abi::EventV6& event) {
        event.rank = static_cast<int>(communicator->rank);
        event.collective.sequence = communicator->collectives;
        event.collective.function = call.name;
        event.collective.count = call.count;
        event.collective.root = call.root;
        event.collective.data_type = "ncclFloat32";
        event.collective.channels = 2;
        event.collective.algorithm = "RING";
        event.collective.protocol = "LL";
        event.collective.group = plan;
      });
  ++communicator->collectives;

  for (void* const event : {task, plan}) profiler.stop(event);
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/// Since NCCL 2.23 each group of calls on a communicator that does not block has a thread of its
/// own (ncclGroupEndInternal() and groupLaunchNonBlocking() in src/group.cc).
ncclResult_t run(ncclComm_t communicator, Call const& call, Work work) {
  if (communicator->connecting.joinable()) communicator->connecting.join();
  Announced const announced = announce(communicator, call);
  ncclResult_t result = ncclInProgress;

  if (communicator->blocks) {
    result = enqueue(communicator, call, announced, std::move(work));
  } else {
    communicator->state = ncclInProgress;
    communicator->connecting = std::thread([=, work = std::move(work)] {
      communicator->state = enqueue(communicator, call, announced, work);
    });
  }

  plugin().stop(announced.group);
  return result;
}

/// The mean of an element of all members, in the order of their ranks.
float mean(Rendezvous const& all, size_t index) {
  float sum = 0;
  for (float const* const send : all.send) sum += send[index];
  return sum / static_cast<float>(all.send.size());
}

bool is_mean_of_floats(ncclDataType_t type, ncclRedOp_t operation) {
  return type == ncclFloat && operation == ncclAvg;
}

/// Runs on a thread of its own where the communicator does not block. The plugin joins when the
/// ranks know each other, as in NCCL's initTransportsRank().
void connect(ncclComm& communicator, size_t ranks) {
  if (!communicator.shared->connect()) return;  // aborted
  communicator.plugin_context = plugin().join(ranks, communicator.rank);
  communicator.state = ncclSuccess;
}

/// Ends the connecting, too.
void end_connecting(ncclComm& communicator) {
  if (communicator.shared != nullptr && communicator.state == ncclInProgress)
    communicator.shared->abort();
  if (communicator.connecting.joinable()) communicator.connecting.join();
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of NCCL.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = static_cast<int>(number_of_knob("DOUBLE_NCCL_VERSION", NCCL_VERSION(2, 28, 9)));
  return ncclSuccess;
}
char const* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unhandled error of the double";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { return SharedGroup::make_id(id); }

/// With blocking = 0 it returns ncclInProgress, and ncclCommGetAsyncError() tells when all ranks
/// are connected ("Fault Tolerance").
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  auto const members = static_cast<size_t>(ranks);
  auto shared = SharedGroup::join(id, members, static_cast<size_t>(rank));
  if (shared == nullptr) return ncclSystemError;

  auto* const communicator = *made = new ncclComm;
  communicator->shared = std::move(shared);
  communicator->rank = static_cast<size_t>(rank);
  communicator->device = engine()->current_device();
  communicator->state = ncclInProgress;

  communicator->blocks = config == nullptr || config->blocking != 0;
  if (communicator->blocks) {
    connect(*communicator, members);
    return communicator->state;
  }
  communicator->connecting =
      std::thread([communicator, members] { connect(*communicator, members); });
  return ncclInProgress;
}

/// One colour, in the order of the ranks. It blocks as its parent does, whatever the new one's
/// configuration says; the new one is null until it is there (ncclCommInitChildComm() in
/// src/init.cc). Both share the parent's group.
ncclResult_t ncclCommSplit(ncclComm_t parent, int colour, int key, ncclComm_t* made,
                           ncclConfig_t* config) {
  *made = nullptr;
  if (parent->state != ncclSuccess) return ncclInvalidUsage;
  if (parent->shared == nullptr || colour != 0 || key != static_cast<int>(parent->rank))
    return ncclInvalidArgument;

  bool const blocks = config == nullptr ? parent->blocks : config->blocking != 0;
  auto const split = [=] {
    auto* const child = new ncclComm;
    child->shared = parent->shared;
    child->rank = parent->rank;
    child->device = parent->device;
    child->blocks = blocks;
    child->plugin_context = plugin().join(parent->shared->ranks(), parent->rank);
    *made = child;
    parent->state = ncclSuccess;
  };

  if (parent->connecting.joinable()) parent->connecting.join();
  if (parent->blocks) {
    split();
    return ncclSuccess;
  }
  parent->state = ncclInProgress;
  parent->connecting = std::thread(split);
  return ncclInProgress;
}

ncclResult_t ncclCommInitAll(ncclComm_t* made, int count, int const* devices) {
  auto const members = static_cast<size_t>(count);
  auto const group = std::make_shared<Group>(members);

  for (size_t rank = 0; rank < members; ++rank) {
    made[rank] = new ncclComm;
    made[rank]->group = group;
    made[rank]->rank = rank;
    made[rank]->device = devices == nullptr ? static_cast<int>(rank) : devices[rank];
    made[rank]->plugin_context = plugin().join(members, rank);
  }
  return ncclSuccess;
}

/// A rank whose process ended is a remote error ("Types", ncclRemoteError).
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  *state = communicator->state;
  if (communicator->shared != nullptr && communicator->shared->has_lost_member())
    *state = ncclRemoteError;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  end_connecting(*communicator);
  plugin().leave(communicator->plugin_context);
  delete communicator;
  return ncclSuccess;
}

/// Kernels that wait for a member end, and the communicator is gone ("Fault Tolerance",
/// ncclCommAbort).
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  end_connecting(*communicator);
  if (communicator->group != nullptr) communicator->group->abort();
  if (communicator->shared != nullptr) communicator->shared->abort();
  plugin().leave(communicator->plugin_context);
  delete communicator;
  return ncclSuccess;
}

/// A segment each, written to every member.
ncclResult_t ncclAllReduce(void const* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (!is_mean_of_floats(type, operation)) return ncclInvalidArgument;
  auto const in_process = [count](Rendezvous& all, size_t rank, size_t members) {
    size_t const segment = (count + members - 1) / members;
    size_t const end = std::min(count, (rank + 1) * segment);
    for (size_t i = std::min(count, rank * segment); i < end; ++i) {
      float const value = mean(all, i);
      for (float* const to : all.receive) to[i] = value;
    }
  };
  auto const* const from = static_cast<float const*>(send);
  auto* const to = static_cast<float*>(receive);
  auto const between = [=](SharedGroup& group) { group.all_reduce(from, to, count); };

  return run(communicator, {"AllReduce", count, 0, from, to, stream}, {in_process, between});
}

ncclResult_t ncclReduceScatter(void const* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator,
                               cudaStream_t stream) {
  if (!is_mean_of_floats(type, operation)) return ncclInvalidArgument;
  auto const in_process = [count](Rendezvous& all, size_t rank, size_t /*members*/) {
    for (size_t i = 0; i < count; ++i) all.receive[rank][i] = mean(all, rank * count + i);
  };
  auto const* const from = static_cast<float const*>(send);
  auto* const to = static_cast<float*>(receive);
  auto const between = [=](SharedGroup& group) { group.reduce_scatter(from, to, count); };

  return run(communicator, {"ReduceScatter", count, 0, from, to, stream}, {in_process, between});
}

/// In place where a member's part of what it receives is what it sends.
ncclResult_t ncclAllGather(void const* send, void* receive, size_t count, ncclDataType_t /*type*/,
                           ncclComm_t communicator, cudaStream_t stream) {
  auto const in_process = [count](Rendezvous& all, size_t rank, size_t members) {
    for (size_t member = 0; member < members; ++member) {
      float* const to = all.receive[rank] + member * count;
      if (to != all.send[member]) std::memcpy(to, all.send[member], count * sizeof(float));
    }
  };
  auto const* const from = static_cast<float const*>(send);
  auto* const to = static_cast<float*>(receive);
  auto const between = [=](SharedGroup& group) { group.all_gather(from, to, count); };

  return run(communicator, {"AllGather", count, 0, from, to, stream}, {in_process, between});
}

ncclResult_t ncclBroadcast(void const* send, void* receive, size_t count, ncclDataType_t /*type*/,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  auto const in_process = [count, root](Rendezvous& all, size_t rank, size_t /*members*/) {
    float const* const from = all.send[static_cast<size_t>(root)];
    if (all.receive[rank] != from) std::memcpy(all.receive[rank], from, count * sizeof(float));
  };
  auto const* const from = static_cast<float const*>(send);
  auto* const to = static_cast<float*>(receive);
  auto const between = [=](SharedGroup& group) {
    group.broadcast(from, to, count, static_cast<size_t>(root));
  };

  return run(communicator, {"Broadcast", count, root, from, to, stream}, {in_process, between});
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
