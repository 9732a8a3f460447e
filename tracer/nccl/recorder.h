// The recorder of one thread that NCCL calls the plugin on: an enqueuing thread of the program or
// one of NCCL's network threads. No lock, no allocation but of the table of a network thread at its
// first operation, no system call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tracer/core/capture_window.h"
#include "tracer/core/clock.h"
#include "tracer/core/ring.h"
#include "tracer/nccl/handle.h"
#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

struct RecorderIds {
  uint32_t number = 0;  ///< tells the session's recorders apart
  int64_t thread = 0;
  int64_t process = 0;
};

/// Called by its thread alone, but for the accessors marked "writer". A handle of 0 stands for what
/// is not recorded: NCCL then says nothing more of it.
class Recorder {
 public:
  Recorder(CaptureWindow& window, TickSource ticks, RecorderIds ids, size_t ring_bytes)
      : window_(window), tick_source_(ticks), ids_(ids), ring_(ring_bytes) {}

  /// The program calls NCCL, once or with several calls at once.
  uint64_t begin_group();
  /// One of its calls; its handle is made here.
  uint64_t begin_program_call(Call call);
  /// The kernel of a plan is about to be launched.
  uint64_t begin_launch(uint64_t group, uint32_t communicator);
  /// A group of operations that one kernel runs.
  uint64_t begin_plan();
  /// An operation is enqueued; its handle is made here.
  uint64_t begin_call(Call call);
  /// A channel's share of the operation, on a network thread; `call` 0: it is of another process.
  uint64_t begin_network_op(uint64_t call);
  uint64_t begin_network_step(uint64_t op);
  /// From now on the step waits for `wait`.
  void wait(uint64_t step, Wait wait);
  /// Accepts any handle that begin gave; others do nothing, as after the capture's end: the ring's
  /// memory was given back.
  void end(uint64_t handle);
  /// The thread exits; nothing may be called afterwards.
  void close() { closed_.store(true, std::memory_order_release); }

  [[nodiscard]] RecorderIds const& ids() const { return ids_; }
  [[nodiscard]] Ring& ring() { return ring_; }  ///< writer
  [[nodiscard]] uint64_t dropped() const {
    return dropped_.load(std::memory_order_relaxed);
  }                                                                                      ///< writer
  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }  ///< writer

 private:
  [[nodiscard]] bool is_recording() const { return window_.mode() == CaptureMode::kRecording; }
  [[nodiscard]] bool is_stopped() const { return window_.mode() == CaptureMode::kStopped; }
  uint64_t next_handle(HandleType type) { return make_handle(type, ids_.number, next_value_++); }
  uint64_t write_call(RecordType type, HandleType handle, Call& call);
  /// It is of this thread's network table.
  [[nodiscard]] bool is_own(uint64_t handle, HandleType type) const {
    return network_ != nullptr && type_of(handle) == type &&
           recorder_of(handle) == recorder_of(make_handle(type, ids_.number, 0));
  }
  /// Room for a record with header and ticks written; null, and counted, when the ring is full.
  uint64_t* begin_record(RecordType type, uint16_t words, int64_t ticks);
  void write_handle(RecordType type, uint64_t handle);
  void end_network_op(uint64_t handle);
  void count_drop() {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  CaptureWindow& window_;
  TickSource const tick_source_;
  RecorderIds const ids_;
  Ring ring_;
  uint64_t next_value_ = 1;
  std::unique_ptr<NetworkTable> network_;
  std::atomic<uint64_t> dropped_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace stepscope::tracer::nccl
