// The thread of a traced process that looks for requests in the run's folder (messages.h) and says
// how far the process is. It has a table of descriptors of its own, as the program must not see
// ours, and a file system that hangs holds up no other thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "trace/base/expected.h"
#include "tracer/core/capture_window.h"
#include "tracer/core/threads/doorbell.h"
#include "tracer/core/threads/own_thread.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {

/// All but the thread itself is called by the session's threads.
class RequestThread {
 public:
  /// `self`: who the process is. `window` must live until end(). Errors: the system gives no
  /// thread.
  static base::Expected<std::shared_ptr<RequestThread>> start(std::string run, ProcessState self,
                                                              CaptureWindow const& window);

  /// A window or a stop that was asked for since the last call; answer() it.
  std::optional<Request> take();
  /// A ring that is to be written, asked for by announce(), another process or a command.
  std::optional<Request> take_ring();
  /// Nothing, when another request has come since.
  void answer(Request const& request, ProcessState::Answer answer);
  /// Asks this process and the others: take_ring() gives it, or what another one asked for at the
  /// same time.
  void announce(Request request);
  /// The steps that a ring would have now.
  void keeps(StepRange steps);
  void window_was_written(std::string file);
  void ring_failed(std::string problem);
  /// Says the last words and waits for the thread, for `timeout` at most: a file system may hang.
  /// `problem`: why recording ends before the program does. Later calls do nothing.
  void end(std::string problem, std::chrono::nanoseconds timeout);
  /// The same without last words, which take memory.
  void give_up(std::chrono::nanoseconds timeout);
  /// 1 while it lives.
  [[nodiscard]] int64_t threads() const {
    return thread_->wait_until_gone(std::chrono::nanoseconds(0)) ? 0 : 1;
  }
  /// Why no request can reach the process; empty = one can.
  [[nodiscard]] std::string problem();
  /// Why those who ask may not have seen the process of late; empty = they have.
  [[nodiscard]] std::string unpublished();

 private:
  RequestThread(std::string run, ProcessState self, CaptureWindow const& window)
      : run_(std::move(run)),
        keeps_ring_(self.phase == ProcessState::Phase::kKeeping),
        state_(std::move(self)),
        window_(&window) {}
  void run();
  bool make_folder();
  void fail_because(std::string problem);
  void look();
  void take_in(Request const& request);
  void look_at_rings();
  void write_announcement();
  void look_at_steps(int64_t now_ns);
  void publish();

  std::string const run_;
  bool const keeps_ring_;
  Doorbell ended_;
  std::optional<OwnThread> thread_;
  bool has_ended_ = false;  ///< the session's

  std::mutex mutex_;  ///< all below
  ProcessState state_;
  CaptureWindow const* window_;  ///< null once the session has ended
  std::optional<Request> asked_, asked_ring_, announcement_;
  std::string problem_, unpublished_;

  // The thread's own.
  std::string unsettled_;  ///< id of a ring that was asked for when it looked last
  std::optional<ProcessState> published_;
  std::deque<std::pair<int64_t, int64_t>> steps_seen_;  ///< moment and step, where it changed
  int64_t next_try_ns_ = 0;                             ///< after a file could not be written
  int64_t next_look_ns_ = 0;                            ///< whether that file is still there
};

}  // namespace stepscope::tracer
