// One capture of one process: its writer thread drains the sources every few milliseconds, decodes,
// and hands the rows to the thread that writes the trace file. Where several windows are asked for,
// each has a file, which is made when the window opens. In a forked child that ends at once
// the writer thread is the only one and writes the file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/clock.h"
#include "tracer/core/device_registry.h"
#include "tracer/core/file_thread.h"
#include "tracer/core/flight/flight_recorder.h"
#include "tracer/core/options.h"
#include "tracer/core/source.h"
#include "tracer/core/stream/stream_recorder.h"
#include "tracer/core/threads/doorbell.h"
#include "tracer/core/threads/own_thread.h"
#include "tracer/core/trace_store.h"
#include "tracer/requests/request_thread.h"

namespace stepscope::tracer {

/// What became of a capture.
struct SessionReport {
  std::string path;      ///< the trace file; empty when none could be made
  uint64_t events = 0;   ///< rows in the file
  uint64_t dropped = 0;  ///< lost because buffers were full
  uint64_t interrupting =
      0;  ///< lost because a signal handler made them in the midst of another event's recording
  std::string_view dropped_setting;  ///< what to enlarge: of the source that lost the most
  std::string problem;               ///< why a source recorded nothing at all
  uint64_t unwritten = 0;            ///< lost because the file could not be written
  std::string failure;               ///< why the file could not be written
};

/// Timeout of stop() at the end of a program or a capture: a file system that hangs must not
/// hold it up for ever.
inline constexpr std::chrono::seconds kStopTimeout{30};

/// Said at exit instead of loss_message() when stop() gave up.
inline constexpr std::string_view kUnfinishedMessage =
    "stepscope: the trace could not be finished in time, is its disk overloaded? Its last events "
    "are lost";

/// The sentence a person needs when something was lost ("stepscope: …" without the line end), else
/// empty.
std::string loss_message(SessionReport const& report);

class Session {
 public:
  explicit Session(CaptureOptions options);
  ~Session();  ///< stops
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;

  [[nodiscard]] CaptureWindow& window() { return window_; }
  /// The CUDA devices that the program uses, as far as a source tells them.
  [[nodiscard]] DeviceRegistry& devices() { return devices_; }
  [[nodiscard]] TickSource tick_source() const { return tick_source_; }
  [[nodiscard]] CaptureOptions const& options() const { return options_; }

  /// Before start(). The source lives as long as the session.
  void add_source(std::unique_ptr<Source> source) { sources_.push_back(std::move(source)); }
  /// Before start(). `call` is made on the writer thread when the capture has ended before the
  /// program does.
  void when_over(std::function<void()> call) { when_over_ = std::move(call); }
  /// Starts the file thread, which makes the trace file with what is known of the process, and the
  /// writer thread; in a forked child the latter alone. False when one of these is refused: nothing
  /// is recorded then.
  bool start();
  /// Ends the capture: recorders stop, everything recorded is written, open ranges end here, the
  /// file gets its index. Waits for that; false when it took longer than `timeout` (then the
  /// session must not be destroyed). Later calls do nothing.
  bool stop(std::chrono::seconds timeout = std::chrono::hours(1));
  /// Closes the window and waits for the rest: device work that was launched inside is over, all is
  /// written, nothing runs any more. False when that took longer than `timeout`: it goes on.
  bool end_window(std::chrono::seconds timeout);
  /// Where the program opens windows as often as it likes: closes the one that is open and waits
  /// until its file is complete, and the next can open. False when that took longer than `timeout`:
  /// it goes on.
  bool close_window(std::chrono::seconds timeout);
  /// Before a stop, where the process ends next and executes no other program: the thread that
  /// waits ends soon then.
  void process_ends_next() {
    process_ends_next_.store(true, std::memory_order_relaxed);
    OwnThread::process_ends_next();
  }
  /// As stop() for a signal handler, or a caller that may hold any lock: takes none, allocates
  /// nothing, and leaves the writer thread to the process's end. Within `timeout` unless the file
  /// system is slow or the caller holds a lock that the writer needs.
  bool stop_without_locks(std::chrono::seconds timeout);
  /// After either.
  [[nodiscard]] SessionReport const& report() const { return report_; }
  /// After either: the message for the user, as loss_message() words it.
  [[nodiscard]] std::string const& message() const { return message_; }

  // Handed on to the sources; any thread.
  void driver_starts();
  void stream_named(void* stream, std::string_view name);
  void program_exits();
  /// As stop_without_locks(), after a crash.
  bool stop_after_crash(std::chrono::seconds timeout);

  /// It recorded until its end, or could not begin.
  [[nodiscard]] bool is_over() const { return finished_.has_rung(); }
  /// After it is over, when no thread of the program waits for one of ours: ends those that are
  /// left.
  void end_own_threads();
  /// The process has more threads than the calling one and the session's, or that is not known.
  [[nodiscard]] bool counts_other_threads() const;

  void lock_for_fork();
  void unlock_after_fork();

 private:
  bool wait_for_end(std::chrono::seconds timeout) const;
  void join_writer() const;
  void run();
  void run_until_stopped();
  /// How long the writer thread sleeps between two drains.
  [[nodiscard]] std::chrono::milliseconds drain_period() const;
  bool begin_file();
  bool file_is_open();
  bool begin_window_file();
  bool begin_next_file();
  bool goes_on();
  bool listen();
  void answer_request();
  ProcessState::Answer begin_asked_window(Request const& asked);
  void bring_to_file();
  [[nodiscard]] bool is_endless() const { return flight_ || stream_; }
  void look_at_what_passes();
  void begin_names_anew();
  void look_at_ring();
  bool begin_stream();
  void close_stream();
  void close_endless();
  void add_ring(WrittenRing const& written);
  void close_ring();
  void end_window_of_sources();
  void bring_names();
  void close_file();
  bool open_file_of_fork(bool is_ending);
  bool write_file_here();
  base::Expected<file::TraceWriter> create_file();
  bool start_thread();
  base::Expected<file::TraceWriter> begin_ring();
  base::Expected<file::TraceWriter> begin_output();
  void drain_once();
  bool window_is_over();
  [[nodiscard]] CaptureOptions options_of_file() const;
  [[nodiscard]] int64_t own_threads() const;
  bool program_has_ended();
  void add_losses(Source const& source);
  void add_problem(Source const& source);
  void finish();

  CaptureOptions const options_;
  TickSource const tick_source_;
  CaptureWindow window_;
  DeviceRegistry devices_;
  ClockSample const origin_;
  int64_t const origin_epoch_ns_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::function<void()> when_over_;

  Doorbell stop_requested_, finished_;
  std::optional<OwnThread> writer_thread_;
  std::atomic<int64_t> file_threads_{0};  ///< 1 from before the file thread begins
  /// The driver needs the writer thread in the program's table of descriptors. Decided once: it
  /// starts, or comes too late.
  enum class Driver : uint8_t { kNone, kStarts, kTooLate };
  std::atomic<Driver> driver_{Driver::kNone};
  std::atomic<bool> process_ends_next_{false};
  std::atomic<bool> is_last_window_{false};  ///< whatever else was asked for
  std::atomic<char const*> end_reason_{"the program ended"};

  // The writer thread's own.
  TraceStore store_;
  ClockFit clock_;
  std::optional<FlightRecorder> flight_;  ///< where a ring is kept, in the memory of `output_`
  std::optional<StreamRecorder> stream_;  ///< where steps are streamed, by `output_`
  std::unique_ptr<FileThread> output_;
  std::shared_ptr<RequestThread> requests_;  ///< where windows are asked for
  Request asked_window_;                     ///< the latest that was taken in
  int64_t last_refresh_ns_ = 0, last_look_ns_ = 0, done_since_ns_ = -1;
  uint64_t most_dropped_ = 0;
  uint64_t dropped_ = 0;  ///< as of the last refresh
  uint64_t files_ = 0;    ///< of windows, where there are several
  /// What a source has lost, as the files of earlier windows say.
  struct Losses {
    uint64_t dropped = 0, interrupting = 0, on_tracks = 0;
  };
  std::map<Source const*, Losses> reported_losses_;
  SessionReport report_;
  std::string message_;
  bool program_ended_ = false;  ///< all of its threads
  /// The status of a main thread that left alone, once the others have ended, too. The last thread
  /// to exit repeats it, because newer kernels (5.17) take the process's status from that one. Set
  /// on the file thread before that ends.
  int main_thread_status_ = 0;
};

}  // namespace stepscope::tracer
