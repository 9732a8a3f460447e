// How the devices of one process meet: all-reduce and its kin among logical devices that share a GPU (or GPUs that see each
// other's memory) by copies and a kernel on the members' own streams; among distinct GPUs by NCCL; messages always through
// staging memory of the sender, so that a send does not wait for its receive.
//
// A CUDA stream can wait only for what was enqueued before. So a member's host thread waits here until all members have enqueued
// what leads to the collective (or the sender its message), then goes on at once: the device work itself is never waited for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/backend/cuda/libraries.h"

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
  explicit Exchange(uint32_t members);
  ~Exchange() override;

  [[nodiscard]] uint32_t members() const { return members_; }

  /// Blocks until all members have come here as often as this one. Null: the group is broken.
  std::shared_ptr<std::vector<Posting> const> meet(uint32_t rank, Posting mine);

  void post(uint32_t from, uint32_t to, std::shared_ptr<Message> message);
  /// Blocks until the next message is posted. Null: the group is broken.
  std::shared_ptr<Message> take(uint32_t from, uint32_t to);
  void consume(Message& message, Event reached);
  /// The receiver's event; null before it has enqueued its copy.
  [[nodiscard]] Event consumed(Message const& message);

  /// Collectives of distinct GPUs go through NCCL. Errors: NCCL's, with what to do.
  base::Expected<void> use_nccl(Nccl const& nccl, std::vector<int> const& gpus);
  [[nodiscard]] bool has_nccl() const { return !communicators_.empty(); }
  /// `call(table, communicator of the rank)`; nothing happens in a broken group. Error: NCCL's words.
  base::Expected<void> call_nccl(uint32_t rank, std::function<ncclResult_t(Nccl const&, ncclComm_t)> const& call);

  /// A member failed: nobody waits for it any more, here or on a device. The first reason is kept.
  void break_up(std::string const& why);
  [[nodiscard]] std::string why_broken();

 private:
  struct Round {
    explicit Round(uint32_t members) : postings(members) {}
    std::vector<Posting> postings;
    uint32_t arrived = 0;
  };
  struct NcclMember {
    std::timed_mutex mutex;
    ncclComm_t communicator = nullptr;
  };

  uint32_t members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> round_;
  std::vector<std::deque<std::shared_ptr<Message>>> messages_;  ///< [from][to]
  std::atomic<bool> broken_ = false;
  std::string why_;
  Nccl nccl_;
  std::vector<std::unique_ptr<NcclMember>> communicators_;
};

}  // namespace stepscope::workloads::cuda
