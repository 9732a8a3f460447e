// The NVTX source: owns the recorders of all threads and turns their rings into rows on the writer
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/source.h"
#include "tracer/core/turns/interleave.h"
#include "tracer/nvtx/decoder.h"
#include "tracer/nvtx/registry.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {

class NvtxSource : public Source {
 public:
  /// `buffer_bytes` bounds the rings of all threads together. Window and registry outlive the
  /// source.
  NvtxSource(CaptureWindow& window, TickSource ticks, Registry& registry, size_t buffer_bytes);
  ~NvtxSource() override;
  NvtxSource(NvtxSource const&) = delete;
  NvtxSource& operator=(NvtxSource const&) = delete;
  /// Before any thread attaches; see Turns.
  void take_turns(std::string address, int64_t steps) { turns_.emplace(std::move(address), steps); }

  /// A recorder for the calling thread, valid until it was closed; the thread's first event makes
  /// it. Null when the capture is over, or, counted, when there is no memory. Thread-safe and safe
  /// in signal handlers: no lock, nothing from the heap.
  ThreadRecorder* attach(int64_t thread_id, ThreadName const& name = {});
  /// The capture has ended: attach() gives nothing any more.
  [[nodiscard]] bool is_over() const { return window_.mode() == CaptureMode::kStopped; }
  /// Events were lost before their thread had a recorder. As attach().
  void count_unattached(uint64_t events) {
    unattached_.fetch_add(events, std::memory_order_relaxed);
  }

  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void end_window(TraceStore& store, int64_t end_ns) override;
  void names_begin_anew(RowWatcher::Renamed const& /*renamed*/) override {
    decoder_.forget_names();
  }
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override { return decoder_.outstanding_ops() == 0; }
  void refresh(TraceStore& store) override;
  [[nodiscard]] uint64_t dropped() const override;
  [[nodiscard]] uint64_t dropped_in_signal_handlers() const override;
  [[nodiscard]] uint64_t dropped_on_tracks() const override { return dropped_on_tracks_; }
  void release() override;
  [[nodiscard]] int64_t threads() const override { return turns_ && turns_->has_thread() ? 1 : 0; }
  void end_threads() override {
    if (turns_) turns_->end_thread();
  }
  // What threads of the program and the writer share has no lock.
  void lock_for_fork() override {}
  void unlock_after_fork() override {}

 private:
  /// The writer thread's view of a recorder.
  struct Drained {
    RecorderPointer recorder;
    uint64_t until = 0;                             ///< ring position of the last snapshot
    UnmatchedRangeEnds::Mark unmatched_range_ends;  ///< of the last snapshot
    uint64_t forgotten_ends = 0;     ///< of unmatched_range_ends: what the decoder knows of
    bool closing = false;            ///< it was closed before the snapshot: nothing comes after it
    std::string comm_name;           ///< as the system knows the thread
    uint64_t described_dropped = 0;  ///< what the track's `dropped` has of it
  };
  size_t take_ring_bytes();
  void take_attached();
  void drain_ring(Drained& drained, TraceStore& store, ClockFit const& clock);
  void lose_ends(Drained& drained, ClockFit const& clock);
  void describe(Drained& drained, TraceStore& store);
  void name_categories(TraceStore& store);
  void count_turns(TraceStore& store);
  void close(Drained& drained, TraceStore& store, ClockFit const& clock);

  CaptureWindow& window_;
  TickSource const ticks_;
  Registry& registry_;

  size_t const max_ring_bytes_;
  RingBudget budget_;
  RangeTrigger trigger_;
  std::optional<Turns> turns_;

  std::atomic<ThreadRecorder*> attached_{
      nullptr};  ///< new to the writer thread, linked from the youngest to the oldest
  std::atomic<uint32_t> next_number_{0};
  std::atomic<uint64_t> unattached_{0};

  // The writer thread's own.
  Decoder decoder_;
  std::vector<Drained> drained_;
  std::map<std::pair<uint16_t, uint32_t>, std::string>
      named_categories_;  ///< that are facts of the trace
  int64_t reported_turns_ = 0;
  uint64_t dropped_by_exited_ = 0, interrupting_of_exited_ = 0, dropped_on_tracks_ = 0;
};

}  // namespace stepscope::tracer
