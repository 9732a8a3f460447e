// Records → rows: each call that NCCL reported becomes a row on the thread that enqueued it, with
// its details and the sum of the waits of its network operations. A call of a plan lasts until the
// next one of the plan or its own end. The first one begins with the launch of the plan's kernel,
// where that is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/core/clock.h"
#include "tracer/core/trace_store.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/open_call.h"
#include "tracer/nccl/program_calls.h"
#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

/// Used by the writer thread alone.
class Decoder {
 public:
  explicit Decoder(Communicators const& communicators) : communicators_(communicators) {}

  /// Decodes whole records of that thread in their order, from the first word on. Returns the
  /// number of decoded words: all of them unless they contradict themselves. `recorder` is the
  /// recorder's number.
  size_t decode(uint32_t recorder, int64_t thread_id, std::span<uint64_t const> words,
                ClockFit const& clock);
  /// All threads were drained up to one moment: writes the calls that are settled by now.
  void end_round(int64_t now_ns, TraceStore& store);
  /// Capture ends: writes all of them.
  void finish(TraceStore& store);
  void forget_thread(uint32_t recorder) { last_call_.erase(recorder); }

  [[nodiscard]] size_t open_calls() const { return calls_.size(); }
  [[nodiscard]] size_t open_groups() const { return program_calls_.open_groups(); }
  [[nodiscard]] uint64_t malformed_records() const { return malformed_; }

 private:
  /// A network operation of a call began or ended.
  struct NetworkEvent {
    uint64_t call = 0;
    int64_t change = 0;  ///< of the number of open ones
    int64_t at_ns = 0;
    std::array<uint64_t, kWaits> waited_ns{};
    int rounds = 0;  ///< that it waited for its call, which is in another thread's ring
  };

  /// NCCL started it for a group of calls on a communicator that does not block
  /// (ncclGroupEndInternal() in src/group.cc). NCCL joins it before the communicator's next group.
  struct ThreadOfNccl {
    int64_t thread_id = 0;
    uint32_t communicator = 0;
  };

  void begin_call(uint32_t recorder, int64_t thread_id, Call const& call, int64_t now);
  void end_call(uint64_t handle, int64_t now);
  static NetworkEvent network_event(std::span<uint64_t const> record, ClockFit const& clock);
  bool apply(NetworkEvent const& event);
  void apply_early_events();
  bool decode_program_call(RecordType type, uint32_t recorder, int64_t thread_id,
                           std::span<uint64_t const> record, int64_t now);
  void share_tracks(TraceStore& store);
  void settle(int64_t now_ns, TraceStore& store);
  void settle_groups(int64_t now_ns, ProgramCalls::Operations const& operations,
                     std::vector<OpenCall>& settled);
  [[nodiscard]] model::CollectiveDetail detail_of(OpenCall const& open) const;
  void write(OpenCall const& open, TraceStore& store) const;
  OpenCall* find(uint64_t handle);

  Communicators const& communicators_;
  std::unordered_map<uint64_t, OpenCall> calls_;      ///< by handle
  std::unordered_map<uint32_t, uint64_t> last_call_;  ///< handle, by recorder
  ProgramCalls program_calls_;
  std::vector<NetworkEvent> early_;
  std::vector<ThreadOfNccl> threads_of_nccl_;  ///< that the store does not know yet
  int64_t settled_ns_ = 0;
  uint64_t malformed_ = 0;
};

}  // namespace stepscope::tracer::nccl
