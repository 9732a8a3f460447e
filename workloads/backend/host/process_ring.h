// Collectives and messages between devices of several processes: those of this one exchange through memory, the others through
// messages (workloads/processes/). The sums are made in the order of ring.h: N processes with M devices each get the bits of one
// process with N × M devices. When a process is gone everything returns at once, with whatever is in the buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/backend/host/communicator.h"
#include "workloads/backend/host/mailbox.h"
#include "workloads/processes/processes.h"

namespace stepscope::workloads::host {

class ProcessRing final : public HostCommunicator {
 public:
  /// Each process has `local` members: those of process p are p · local and on.
  ProcessRing(std::shared_ptr<Processes> processes, uint32_t local);

  [[nodiscard]] uint64_t id() const override { return id_; }
  [[nodiscard]] uint32_t members() const override { return members_; }
  uint64_t next_sequence(uint32_t rank) override { return state_[rank - first_].sequence++; }
  void exchange(uint32_t rank, Collective const& what) override;

 private:
  enum class Purpose : uint8_t { kCollective, kMessage };
  struct Member {
    std::vector<float> piece;
    uint64_t sequence = 0;
  };
  void put(Purpose purpose, uint32_t from, uint32_t to, float const* data, size_t count);
  void take(Purpose purpose, uint32_t from, uint32_t to, float* data, size_t count);
  [[nodiscard]] int tag(Purpose purpose, uint32_t from, uint32_t to) const;
  Mailbox& mailbox(Purpose purpose, uint32_t from, uint32_t to);
  [[nodiscard]] bool is_here(uint32_t member) const { return member >= first_ && member - first_ < local_; }

  void all_reduce_mean(uint32_t rank, float* data, size_t count);
  void reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count);
  void all_gather(uint32_t rank, float const* send, float* receive, size_t count);
  void broadcast(uint32_t rank, uint32_t root, float const* send, float* receive, size_t count);

  std::shared_ptr<Processes> processes_;
  uint64_t id_;
  uint32_t local_, first_, members_;
  std::vector<Member> state_;             ///< of this process's members
  std::unique_ptr<Mailbox[]> mailboxes_;  ///< [purpose][from][to], of this process's members
};

}  // namespace stepscope::workloads::host
