// An NCCL without GPUs: communicators that remember what was asked of them, and whose state a test
// decides.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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
  };
  struct Behaviour {
    int version = NCCL_VERSION(2, 28, 0);
    ncclResult_t id = ncclSuccess;        ///< what making an id gives
    std::map<int, ncclResult_t> refused;  ///< what starting a rank gives
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
    behaviour() = {};
  }
  static Communicator& of_rank(int rank) {
    std::lock_guard const lock(mutex());
    return *communicators().at(rank);
  }
  static bool has_rank(int rank) {
    std::lock_guard const lock(mutex());
    return communicators().contains(rank);
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
    nccl.init_rank = [](ncclComm_t* made, int size, ncclUniqueId id, int rank,
                        ncclConfig_t* config) {
      if (behaviour().refused.contains(rank)) return behaviour().refused.at(rank);
      *made = make(rank, size, active_gpu(), std::string(id.internal, sizeof id.internal),
                   config->blocking);
      of(*made).looks_until_done = behaviour().looks_until_connected;
      return ncclInProgress;
    };

    nccl.async_error = [](ncclComm_t communicator, ncclResult_t* state) {
      Communicator& one = of(communicator);
      if (one.looks_until_done > 0) {
        --one.looks_until_done;
        *state = ncclInProgress;
      } else {
        *state = one.state;
      }
      return ncclSuccess;
    };

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
