// How devices meet. All-reduce and its kin among logical devices that share a GPU (or GPUs that see
// each other's memory) go by copies and a kernel on the members' own streams. Among distinct GPUs,
// and those of several processes, they go by NCCL. Messages always go through staging memory of the
// sender, so that a send does not wait for its receive: inside one process only.
//
// A CUDA stream can wait only for what was enqueued before. So a member's host thread waits here
// until all members have enqueued what leads to the collective (or the sender its message). Then it
// goes on at once, without waiting for the device work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/peers.h"
#include "workloads/backend/backend.h"
#include "workloads/backend/cuda/group_watch.h"
#include "workloads/backend/cuda/nccl_group.h"

namespace stepscope::workloads::cuda {

/// What one member shows the others.
struct Posting {
  float const* send = nullptr;
  float* receive = nullptr;
  size_t count = 0;
  Event reached;  ///< on the member's communication stream
};

/// A message on its way, in staging memory of its sender.
struct Message {
  float const* data = nullptr;
  size_t count = 0;
  Event filled;
  Event consumed;  ///< set by the receiver, under the exchange's lock
};

class Exchange final : public Communicator {
 public:
  /// `peers`: of several processes, which have as many members each, those of rank 0 first; null:
  /// all are of this one. With them use_nccl() must follow.
  explicit Exchange(uint32_t members, std::shared_ptr<mpi::Peers> peers = nullptr);
  ~Exchange() override;

  [[nodiscard]] uint32_t members() const { return members_; }
  /// Number of this process's first device; 0 where it has all.
  [[nodiscard]] uint32_t first_member() const { return first_; }

  /// Blocks until all members have come here as often as this one. Null: the group is broken.
  std::shared_ptr<std::vector<Posting> const> meet(uint32_t rank, Posting mine);

  void post(uint32_t from, uint32_t to, std::shared_ptr<Message> message);
  /// Blocks until the next message is posted. Null: the group is broken.
  std::shared_ptr<Message> take(uint32_t from, uint32_t to);
  void consume(Message& message, Event reached);
  /// The receiver's event; null before it has enqueued its copy.
  [[nodiscard]] Event consumed(Message const& message);

  /// Collectives go through NCCL from now on; `nccl` has the members of this process. Other
  /// processes are watched: when one is gone or gives up, the group breaks up. When it breaks up
  /// here, this process notifies them.
  void use_nccl(std::unique_ptr<NcclGroup> nccl);
  [[nodiscard]] bool has_nccl() const { return nccl_ != nullptr; }
  /// NcclGroup::call() for the member; nothing happens in a broken group.
  base::Expected<void> call_nccl(uint32_t member, NcclGroup::Call const& call);
  /// Whether all members are of this process: only then there are messages.
  [[nodiscard]] bool is_in_one_process() const { return peers_ == nullptr; }
  /// Watch of the threads that wait for devices; null in one process.
  [[nodiscard]] GroupWatch* watch() const { return watch_.get(); }

  /// A member failed: no thread waits for it any more, here or on a device. The first reason is
  /// kept.
  void break_up(std::string const& why);
  [[nodiscard]] std::string why_broken();

 private:
  struct Round {
    explicit Round(uint32_t members) : postings(members) {}
    std::vector<Posting> postings;
    uint32_t arrived = 0;
  };

  uint32_t members_;
  std::shared_ptr<mpi::Peers> peers_;
  uint32_t local_, first_;  ///< of this process
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> round_;
  std::vector<std::deque<std::shared_ptr<Message>>> messages_;  ///< [from][to]
  std::atomic<bool> broken_ = false;
  std::string why_;
  std::unique_ptr<NcclGroup> nccl_;
  std::unique_ptr<GroupWatch> watch_;  ///< last: it looks at the others
};

}  // namespace stepscope::workloads::cuda
