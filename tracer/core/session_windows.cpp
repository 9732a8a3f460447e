// What a session does where there are several windows: each has a file, and is opened by steps, by
// the program or by who asks for it.
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "trace/base/files/run_folder.h"
#include "tracer/core/process/trace_files.h"
#include "tracer/core/session.h"

namespace stepscope::tracer {

bool Session::close_window(std::chrono::seconds timeout) {
  constexpr std::chrono::milliseconds kLookPeriod{1};
  auto const end = std::chrono::steady_clock::now() + timeout;
  window_.close_from_code();
  while (window_.mode() == CaptureMode::kEnding && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kLookPeriod);
  if (window_.mode() == CaptureMode::kStopped) return wait_for_end(timeout);
  return window_.mode() != CaptureMode::kEnding;
}

/// Where windows are asked for, or a ring is kept. A forked child is not asked: it has no steps as
/// a rule.
bool Session::listen() {
  if ((!options_.window.on_request && !flight_) || options_.forked) return true;
  ProcessState self;
  if (flight_) self.phase = ProcessState::Phase::kKeeping;
  self.process_id = ::getpid();
  self.rank = options_.rank.value_or(-1);
  self.world_size = options_.world_size;

  auto started = RequestThread::start(options_.folder, std::move(self), window_);
  if (started) {
    requests_ = std::move(*started);
    return true;
  }
  report_.failure = started.error().message;
  return false;
}

/// Where there are several windows: makes the file of one that has opened. False when that did not
/// work, and then nothing more is recorded.
bool Session::begin_window_file() {
  if (!options_.window.repeats() || window_.openings() == files_) return true;
  files_ = window_.openings();
  done_since_ns_ = -1;
  return begin_next_file();
}

bool Session::begin_next_file() {
  std::string const before = report_.path;
  if (begin_file() && file_is_open()) return true;
  output_.reset();
  store_.leave_file();
  report_.path = before;
  return false;
}

void Session::answer_request() {
  auto const asked = requests_ ? requests_->take() : std::nullopt;
  if (!asked) return;

  using Answer = ProcessState::Answer;
  switch (asked->kind) {
    case Request::Kind::kState:
      break;
    case Request::Kind::kNone:
      window_.withdraw_request();
      break;
    case Request::Kind::kStop:
      is_last_window_.store(true, std::memory_order_relaxed);
      end_reason_.store("stepscope trigger --stop asked for the end", std::memory_order_relaxed);
      window_.close();
      break;
    case Request::Kind::kRing:
      break;  // not one of these: take_ring()
    case Request::Kind::kFlush:
      if (flight_) return requests_->answer(*asked, Answer::kBusy);
      bring_to_file();
      break;
    case Request::Kind::kWindow:
      return requests_->answer(*asked, begin_asked_window(*asked));
  }
  requests_->answer(*asked, Answer::kDone);
}

ProcessState::Answer Session::begin_asked_window(Request const& asked) {
  if (flight_ || !window_.waits_for_request()) return ProcessState::Answer::kBusy;

  int64_t const now_ns = clock_.latest_ns(), begin_in_ns = asked.begin_epoch_ns - epoch_ns();
  int64_t const duration_ns = asked.end_epoch_ns - asked.begin_epoch_ns;
  // Who asks leaves seconds: what begins much later was asked for by another clock than this one.
  constexpr int64_t kMostAheadNs = 600'000'000'000;
  bool const is_in_time =
      asked.is_timed()
          ? begin_in_ns <= kMostAheadNs && window_.request_time(now_ns, begin_in_ns, duration_ns)
          : window_.request(asked.steps);
  if (!is_in_time) return ProcessState::Answer::kTooLate;
  asked_window_ = asked;
  return ProcessState::Answer::kDone;
}

/// All of the open window until now; ranges that have not ended are not in it.
void Session::bring_to_file() {
  if (!output_) return;
  store_.flush(clock_.latest_ns(), true);
  output_->wait_until_idle();
}

/// The window is over. Whether another one comes; the file of this one is complete then.
bool Session::goes_on() {
  if (is_last_window_.load(std::memory_order_relaxed) || !window_.has_next()) return false;
  if (output_ && !store_.can_begin_file()) {
    store_.log.notes.emplace_back(
        "later windows were not recorded: names have filled their memory, as the program makes up "
        "new ones all the time");
    return false;
  }

  window_.end();
  drain_once();  // what was recorded while the file was made, or the window was being closed
  end_window_of_sources();
  return report_.failure.empty() && window_.arm_again();
}

/// Each of several windows is a run of its own, in a folder named for its steps, its number or its
/// time.
CaptureOptions Session::options_of_file() const {
  CaptureOptions options = options_;
  WindowOptions& window = options.window;
  if (!window.repeats() || window_.has_never_opened()) return options;

  constexpr int64_t kNsPerSecond = 1'000'000'000;
  std::string name;
  if (window.code_repeats) {
    name = base::name_of_code_window(files_);
  } else if (window_.is_timed()) {
    window.steps.reset();
    window.duration_ns = asked_window_.end_epoch_ns - asked_window_.begin_epoch_ns;
    name = base::name_of_timed_window(asked_window_.begin_epoch_ns / kNsPerSecond);
  } else {
    window.steps = window_.steps();
    name = base::name_of_window(window.steps->first, window.steps->last);
  }

  options.folder += "/" + name;
  return options;
}

/// Completes the file of the window, if it has one: it may have passed without opening.
void Session::end_window_of_sources() {
  bring_names();
  for (auto const& source : sources_) {
    source->refresh(store_);
    source->end_window(store_, clock_.latest_ns());
    if (output_) add_losses(*source);
  }
  if (output_) close_file();
}

}  // namespace stepscope::tracer
