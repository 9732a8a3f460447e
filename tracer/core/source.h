// The seam between the session and what events come from: one implementation a folder beside this
// one (nvtx/ …), listed in inject/sources.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracer/core/clock.h"
#include "tracer/core/options.h"
#include "tracer/core/trace_store.h"

namespace stepscope::tracer {

/// Its recorders run on the program's threads; everything below that says nothing else runs on the
/// writer thread, in the order snapshot, drain, snapshot, drain, …, snapshot, drain, finish. After
/// a drain an end_window may come.
class Source {
 public:
  Source() = default;
  Source(Source const&) = delete;
  Source& operator=(Source const&) = delete;
  virtual ~Source() = default;

  // On threads of the program, at any time after the session was made; a source that needs them
  // does something.
  /// The CUDA driver is being initialized by the calling thread, which waits for this.
  virtual void driver_starts() {}
  /// The program names one of CUDA's streams: a CUstream or cudaStream_t.
  virtual void stream_named(void* /*stream*/, std::string_view /*name*/) {}
  /// The program runs its exit handlers; drivers may go next.
  virtual void program_exits() {}
  /// The program has crashed, maybe inside of a driver: finish() is next. In a signal handler:
  /// takes no lock, allocates nothing.
  virtual void program_crashes() noexcept {}

  /// Marks what has been recorded by now; the clocks are sampled after it, so that no record is
  /// younger than the sample.
  virtual void snapshot() = 0;
  /// Decodes what the snapshot marked.
  virtual void drain(TraceStore& store, ClockFit const& clock) = 0;
  /// The window has ended at `end_ns` and others may come: writes what waits, and closes what is
  /// open. The next drain is for the next window's file.
  virtual void end_window(TraceStore& /*store*/, int64_t /*end_ns*/) {}
  /// After a drain: ids that the store gave before mean nothing any more, but `renamed` gives their
  /// texts other ones.
  virtual void names_begin_anew(RowWatcher::Renamed const& /*renamed*/) {}
  /// Capture ends at `end_ns`: closes what is open.
  virtual void finish(TraceStore& store, int64_t end_ns) = 0;
  /// No device work is known to be under way.
  [[nodiscard]] virtual bool idle() const = 0;
  /// Names of threads may have changed; called about twice a second.
  virtual void refresh(TraceStore& store) = 0;
  /// Events that could not be recorded so far.
  [[nodiscard]] virtual uint64_t dropped() const = 0;
  /// The part of dropped() from signal handlers that interrupted the recording of another event,
  /// which no buffer would have held.
  [[nodiscard]] virtual uint64_t dropped_in_signal_handlers() const { return 0; }
  /// The part of dropped() that the tracks of the store count themselves.
  [[nodiscard]] virtual uint64_t dropped_on_tracks() const { return 0; }
  /// What to enlarge when events were dropped: the variable and the option.
  [[nodiscard]] virtual std::string_view buffer_setting() const { return kBufferSetting; }
  /// After finish(): why nothing of this source was recorded although the program used it, and what
  /// to do; empty = no problem.
  [[nodiscard]] virtual std::string problem() const { return {}; }
  /// After finish(): releases memory that no thread needs; recorders may still be running into
  /// their end.
  virtual void release() = 0;
  /// Threads of its own that run now.
  [[nodiscard]] virtual int64_t threads() const { return 0; }
  /// Ends those that finish() leaves. No thread of the program waits for one.
  virtual void end_threads() {}
  // Around fork(): no lock of the source may be held by another thread while the process is copied.
  virtual void lock_for_fork() = 0;
  virtual void unlock_after_fork() = 0;
};

}  // namespace stepscope::tracer
