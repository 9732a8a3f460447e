// An NCCL without GPUs: communicators that remember what was asked of them, and whose state a test
// decides.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "workloads/backend/cuda/libraries.h"

namespace stepscope::workloads::cuda::testing {

class FakeNccl {
 public:
  struct Communicator {
    int rank = 0, size = 0, blocking = 1, gpu = -1;
    std::string id;
    std::atomic<ncclResult_t> state = ncclSuccess;
    std::atomic<int> looks_until_done = 0;  ///< so often it is still in progress
    std::atomic<bool> aborted = false, destroyed = false;
    ncclComm_t split_off =
        nullptr;  ///< what a split makes of it, and where the split writes that when done
    ncclComm_t* written_to = nullptr;
  };
  struct Behaviour {
    int version = NCCL_VERSION(2, 28, 0);
    ncclResult_t id = ncclSuccess;        ///< what making an id gives
    std::map<int, ncclResult_t> refused;  ///< what starting a rank gives
    ncclResult_t split = ncclInProgress;  ///< what splitting gives
    int looks_until_connected = 3;        ///< so often a new communicator is in progress
  };

  static Behaviour& behaviour() {
    static Behaviour one;
    return one;
  }
  /// Forgets communicators and behaviour of an earlier test.
  static void clear() {
    std::lock_guard const lock(mutex());
    communicators().clear();
    parents().clear();
    behaviour() = {};
  }
  static Communicator& of_rank(int rank) {
    std::lock_guard const lock(mutex());
    return *communicators().at(rank);
  }
  /// What the communicator of the rank was split off.
  static Communicator& parent_of_rank(int rank) {
    std::lock_guard const lock(mutex());
    return *parents().at(rank);
  }
  static bool has_rank(int rank) {
    std::lock_guard const lock(mutex());
    return communicators().contains(rank);
  }
  static bool has_parent(int rank) {
    std::lock_guard const lock(mutex());
    return parents().contains(rank);
  }
  /// What a thread has made its GPU.
  static int& active_gpu() {
    static thread_local int gpu = -1;
    return gpu;
  }
  static Communicator& of(ncclComm_t communicator) {
    return *reinterpret_cast<Communicator*>(communicator);
  }

  static Nccl table() {
    Nccl nccl;
    nccl.get_version = [](int* version) { return *version = behaviour().version, ncclSuccess; };
    nccl.error_string = [](ncclResult_t) { return "made error"; };
    nccl.unique_id = [](ncclUniqueId* id) {
      std::memset(id->internal, 0, sizeof id->internal);
      std::memcpy(id->internal, "a\0b", 3);  // an id is no text
      return behaviour().id;
    };

    nccl.init_all = [](ncclComm_t* made, int count, int const* gpus) {
      for (int rank = 0; rank < count; ++rank) made[rank] = make(rank, count, gpus[rank], "", 1);
      return ncclSuccess;
    };
    nccl.init_rank = start_rank;
    nccl.split = split;

    nccl.async_error = look;
    nccl.destroy = [](ncclComm_t communicator) {
      return of(communicator).destroyed = true, ncclSuccess;
    };
    nccl.abort = [](ncclComm_t communicator) {
      return of(communicator).aborted = true, ncclSuccess;
    };
    return nccl;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::map<int, std::unique_ptr<Communicator>>& communicators() {
    static std::map<int, std::unique_ptr<Communicator>> all;
    return all;
  }
  // The calls of NCCL.
  static ncclResult_t start_rank(ncclComm_t* made, int size, ncclUniqueId id, int rank,
                                 ncclConfig_t* config) {
    if (behaviour().refused.contains(rank)) return behaviour().refused.at(rank);
    *made = make(rank, size, active_gpu(), std::string(id.internal, sizeof id.internal),
                 config->blocking);
    of(*made).looks_until_done = behaviour().looks_until_connected;
    return ncclInProgress;
  }
  static ncclResult_t split(ncclComm_t parent, int colour, int key, ncclComm_t* made,
                            ncclConfig_t* config) {
    if (behaviour().split != ncclInProgress) return behaviour().split;
    Communicator& one = of(parent);
    if (colour != 0 || key != one.rank) return ncclInvalidArgument;

    keep_parent(one.rank);
    one.split_off = make(one.rank, one.size, one.gpu, one.id, config->blocking);
    *made = nullptr;  // until it is connected
    one.written_to = made;
    one.looks_until_done = behaviour().looks_until_connected;
    return ncclInProgress;
  }
  static ncclResult_t look(ncclComm_t communicator, ncclResult_t* state) {
    Communicator& one = of(communicator);
    if (one.looks_until_done > 0) {
      --one.looks_until_done;
      *state = ncclInProgress;
    } else {
      *state = one.state;
      if (one.written_to != nullptr) *std::exchange(one.written_to, nullptr) = one.split_off;
    }
    return ncclSuccess;
  }

  static std::map<int, std::unique_ptr<Communicator>>& parents() {
    static std::map<int, std::unique_ptr<Communicator>> all;
    return all;
  }
  static void keep_parent(int rank) {
    std::lock_guard const lock(mutex());
    parents()[rank] = std::move(communicators()[rank]);
  }
  static ncclComm_t make(int rank, int size, int gpu, std::string id, int blocking) {
    auto made = std::make_unique<Communicator>();
    made->rank = rank;
    made->size = size;
    made->gpu = gpu;
    made->id = std::move(id);
    made->blocking = blocking;

    std::lock_guard const lock(mutex());
    auto& kept = communicators()[rank];
    kept = std::move(made);
    return reinterpret_cast<ncclComm_t>(kept.get());
  }
};

}  // namespace stepscope::workloads::cuda::testing
