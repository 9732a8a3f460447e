// The NCCL source: owns the recorders of all threads that NCCL calls the plugin on and turns their
// rings into rows on the writer thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/source.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/decoder.h"
#include "tracer/nccl/recorder.h"

namespace stepscope::tracer::nccl {

class NcclSource : public Source {
 public:
  /// A thread's ring gets a share of `buffer_bytes`. Window and communicators outlive the source.
  NcclSource(CaptureWindow& window, TickSource ticks, Communicators const& communicators,
             int64_t process_id, size_t buffer_bytes);

  /// A recorder for the calling thread, valid until it was closed; one that records nothing when
  /// capture has ended. Thread-safe.
  Recorder* attach(int64_t thread_id);

  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void end_window(TraceStore& store, int64_t end_ns) override;
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override {
    return true;
  }  // what belongs to the window is recorded when it is enqueued
  void refresh(TraceStore& /*store*/) override {}
  [[nodiscard]] uint64_t dropped() const override;
  /// Why the user's plugin got nothing.
  [[nodiscard]] std::string problem() const override { return problem_; }
  void release() override;
  void lock_for_fork() override { mutex_.lock(); }
  void unlock_after_fork() override { mutex_.unlock(); }

 private:
  /// The writer thread's view of a recorder.
  struct Drained {
    Recorder* recorder = nullptr;
    uint64_t until = 0;    ///< ring position of the last snapshot
    bool closing = false;  ///< it was closed before the snapshot: nothing comes after it
  };
  void drain_ring(Drained const& drained, ClockFit const& clock);
  void forget_closed();
  void describe(TraceStore& store);

  /// Its interface and what that means, for people; empty when the program made no communicator.
  [[nodiscard]] std::string describe_interface() const;

  CaptureWindow& window_;
  TickSource const ticks_;
  Communicators const& communicators_;
  int64_t const process_id_;
  size_t const ring_bytes_;

  std::mutex mutex_;  ///< recorders_, next_number_
  std::vector<std::unique_ptr<Recorder>> recorders_;
  uint32_t next_number_ = 0;
  Recorder idle_;  ///< of all threads that come after the end: it has no ring

  // The writer thread's own.
  Decoder decoder_;
  std::vector<Drained> drained_;
  uint64_t dropped_by_exited_ = 0;
  uint64_t reported_malformed_ = 0;  ///< in the files of earlier windows
  std::string problem_;
};

}  // namespace stepscope::tracer::nccl
