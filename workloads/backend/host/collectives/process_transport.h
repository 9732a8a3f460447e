// Members in several processes: those of this one exchange through memory, the others through
// messages (workloads/processes/). Everything is copied. When a process is gone every call returns
// at once, with whatever is in the buffers.
#pragma once

#include <memory>
#include <vector>

#include "mpi/processes.h"
#include "workloads/backend/host/collectives/mailbox.h"
#include "workloads/backend/host/collectives/transport.h"

namespace stepscope::workloads::host {

class ProcessTransport final : public Transport {
 public:
  /// Each process has `local` members: those of process p are p · local and on.
  ProcessTransport(std::shared_ptr<mpi::Processes> processes, uint32_t local);

  [[nodiscard]] uint64_t id() const override { return id_; }
  [[nodiscard]] uint32_t members() const override { return members_; }
  [[nodiscard]] bool has(uint32_t member) const override {
    return member >= first_ && member - first_ < local_;
  }
  [[nodiscard]] bool shares_memory() const override { return false; }

  void begin(uint32_t rank, float const* data, float* writable, size_t count) override;
  void give(uint32_t rank, uint32_t to, float const* data, size_t count) override;
  float const* take(uint32_t rank, Origin const& from, size_t count, float* landing) override;
  float* writable(Origin const& from) override;
  void finish_piece(uint32_t rank) override;
  void end(uint32_t rank, Readers readers) override;

  void send(uint32_t rank, uint32_t to, float const* data, size_t count) override;
  void receive(uint32_t rank, uint32_t from, float* data, size_t count) override;

 private:
  enum class Purpose : uint8_t { kCollective, kMessage };
  void put(Purpose purpose, uint32_t from, uint32_t to, float const* data, size_t count);
  void get(Purpose purpose, uint32_t from, uint32_t to, float* data, size_t count);
  [[nodiscard]] int tag(Purpose purpose, uint32_t from, uint32_t to) const;
  Mailbox& mailbox(Purpose purpose, uint32_t from, uint32_t to);

  std::shared_ptr<mpi::Processes> processes_;
  uint64_t id_;
  uint32_t local_, first_, members_;
  std::vector<std::vector<float>>
      pieces_;                            ///< of each of this process's members: what it took last
  std::unique_ptr<Mailbox[]> mailboxes_;  ///< [purpose][from][to], of this process's members
};

}  // namespace stepscope::workloads::host
