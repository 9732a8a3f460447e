// NCCL's communicators of this process's GPUs: connected with each other, or with those of the
// other processes too. Between processes they are connected without blocking (ncclConfig_t): NCCL
// returns at once, and this code waits. So a process that is gone does not hold this one inside
// NCCL. But NCCL 2.23 and newer start a thread for each group of calls on a communicator that does
// not block. Collectives therefore run on one that blocks, which ncclCommSplit() makes of the other
// without blocking. Both share NCCL's buffers (splitShare), and aborting frees a call that blocks.
//
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html#fault-tolerance
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/peers.h"
#include "trace/base/expected.h"
#include "workloads/backend/cuda/libraries.h"

namespace stepscope::workloads::cuda {

class NcclGroup {
 public:
  /// `gpus` of this process, with each other. Errors: NCCL's, with what to do.
  static base::Expected<std::unique_ptr<NcclGroup>> connect(Nccl const& nccl,
                                                            std::vector<int> const& gpus);
  struct Local {
    std::vector<int> gpus;
    std::function<void(int gpu)> activate;  ///< makes it the calling thread's
    bool shared = false;                    ///< with other processes, any of all
  };
  /// With those of the other processes, which have as many each. Rank 0 makes NCCL's id and gives
  /// it to the others. From then on the processes watch each other. All processes must call it.
  /// Errors: those, NCCL is too old, a process is gone or gives up, NCCL takes longer than
  /// peers.timeout().
  static base::Expected<std::unique_ptr<NcclGroup>> connect(Nccl const& nccl, Local const& local,
                                                            mpi::Peers& peers);
  /// Unless the group was aborted, the work of all members of all processes must be over.
  ~NcclGroup();
  NcclGroup(NcclGroup const&) = delete;
  NcclGroup& operator=(NcclGroup const&) = delete;

  using Call = std::function<ncclResult_t(Nccl const&, ncclComm_t)>;
  /// `call(table, communicator of the process's device `local`)`, and waits until NCCL has taken
  /// it. Nothing happens after abort(). Errors: NCCL's words, or that the group was aborted.
  base::Expected<void> call(uint32_t local, Call const& call);

  /// What NCCL found wrong since: a broken connection, most of all. Looks only where no thread is
  /// in a call.
  std::optional<std::string> asynchronous_error();

  /// Ends what waits for members that come no more, on the GPUs and in call(). From any thread.
  void abort();

 private:
  struct Member {
    std::mutex mutex;  ///< held in a call of NCCL
    ncclComm_t communicator = nullptr;
    /// What `communicator` was split off, if it was: the one that does not block.
    ncclComm_t parent = nullptr;
  };

  NcclGroup(Nccl const& nccl, size_t members);
  base::Expected<void> start(Local const& local, ncclUniqueId const& id, mpi::Peers const& peers);
  /// Replaces each connected communicator by one that blocks.
  base::Expected<void> split(mpi::Peers const& peers);
  /// Until the work of a communicator that does not block is done.
  base::Expected<void> wait_until_connected(ncclComm_t communicator, mpi::Peers const& peers);
  [[nodiscard]] std::string words(ncclResult_t result) const;

  Nccl nccl_;
  std::vector<std::unique_ptr<Member>> members_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace stepscope::workloads::cuda
