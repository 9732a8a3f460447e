// Threads of one process reach each other's buffers directly: nothing is copied on the way.
#pragma once

#include <atomic>
#include <memory>

#include "workloads/backend/host/collectives/mailbox.h"
#include "workloads/backend/host/collectives/transport.h"

namespace stepscope::workloads::host {

class ThreadTransport final : public Transport {
 public:
  explicit ThreadTransport(uint32_t members);

  [[nodiscard]] uint64_t id() const override { return id_; }
  [[nodiscard]] uint32_t members() const override { return members_; }
  [[nodiscard]] bool has(uint32_t member) const override { return member < members_; }
  [[nodiscard]] bool shares_memory() const override { return true; }

  void begin(uint32_t rank, float const* data, float* writable, size_t count) override;
  void give(uint32_t rank, uint32_t to, float const* data, size_t count) override;
  float const* take(uint32_t rank, Origin const& from, size_t count, float* landing) override;
  float* writable(Origin const& from) override;
  void finish_piece(uint32_t rank) override;
  void end(uint32_t rank, Readers readers) override;

  void send(uint32_t rank, uint32_t to, float const* data, size_t count) override;
  void receive(uint32_t rank, uint32_t from, float* data, size_t count) override;

 private:
  struct alignas(64) Member {
    std::atomic<uint32_t> progress =
        0;  ///< beginnings, pieces and ends since the ring exists; wraps, compared by difference
    float const* data =
        nullptr;  ///< what others read, and `writable` what they write: published by the progress
    float* writable = nullptr;
    size_t count = 0;
    uint32_t begun =
        0;              ///< progress when the current collective had begun; the same on all members
    uint32_t done = 0;  ///< what this member has made of its progress
  };
  static void publish(Member& member);
  static void await(Member const& member, uint32_t progress);
  Mailbox& mailbox(uint32_t from, uint32_t to) { return mailboxes_[size_t{from} * members_ + to]; }

  uint64_t id_;
  uint32_t members_;
  std::unique_ptr<Member[]> state_;
  std::unique_ptr<Mailbox[]> mailboxes_;
};

}  // namespace stepscope::workloads::host
