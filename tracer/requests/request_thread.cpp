#include "tracer/requests/request_thread.h"

#include <algorithm>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/host_name.h"
#include "tracer/core/clock.h"
#include "tracer/core/process/process_info.h"
#include "tracer/core/threads/private_descriptors.h"

namespace stepscope::tracer {
namespace {

/// The length of a step is measured over this many looks that found another one. Where steps are
/// short these are some seconds, where they are long as many steps.
constexpr size_t kStepsSeen = 16;
/// A message holds no more of a command.
constexpr size_t kMaxCommandBytes = 1000;

/// The median of them: a pause between two, for an evaluation say, is no step. 0 = not known.
int64_t usual_step_ns(std::deque<std::pair<int64_t, int64_t>> const& seen) {
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < seen.size(); ++i)
    lengths.push_back((seen[i].first - seen[i - 1].first) / (seen[i].second - seen[i - 1].second));
  if (lengths.empty()) return 0;

  auto const middle = lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

ProcessState::Phase phase_of(CaptureWindow const& window) {
  if (window.mode() != CaptureMode::kBaseline) return ProcessState::Phase::kRecording;
  return window.waits_for_request() ? ProcessState::Phase::kWaiting : ProcessState::Phase::kAsked;
}

}  // namespace

base::Expected<std::shared_ptr<RequestThread>> RequestThread::start(std::string run,
                                                                    ProcessState self,
                                                                    CaptureWindow const& window) {
  std::shared_ptr<RequestThread> made(new RequestThread(std::move(run), std::move(self), window));

  // It keeps itself alive: one that hangs outlives its session.
  auto thread = OwnThread::start("stepscope-asked", [made] {
    try {
      made->run();
    } catch (...) {
      // For lack of memory. The program is recorded as asked for until now.
    }
  });

  if (!thread) return base::fail_with(thread);
  made->thread_ = std::move(*thread);
  return made;
}

std::optional<Request> RequestThread::take() {
  std::lock_guard const lock(mutex_);
  return std::exchange(asked_, std::nullopt);
}

std::optional<Request> RequestThread::take_ring() {
  std::lock_guard const lock(mutex_);
  return std::exchange(asked_ring_, std::nullopt);
}

void RequestThread::answer(Request const& request, ProcessState::Answer answer) {
  std::lock_guard const lock(mutex_);
  if (request.id != state_.request) return;
  state_.answer = answer;
  // Who reads the answer sees what the process does now.
  if (window_ != nullptr && !keeps_ring_) state_.phase = phase_of(*window_);
  bool const has_window =
      request.kind == Request::Kind::kWindow && answer == ProcessState::Answer::kDone;
  if (has_window) state_.window = request.steps;
}

void RequestThread::announce(Request request) {
  std::lock_guard const lock(mutex_);
  announcement_ = std::move(request);
}

void RequestThread::keeps(StepRange steps) {
  std::lock_guard const lock(mutex_);
  state_.window = steps;
}

void RequestThread::window_was_written(std::string file) {
  std::lock_guard const lock(mutex_);
  state_.file = std::move(file);
  ++state_.written;
}

void RequestThread::ring_failed(std::string problem) {
  std::lock_guard const lock(mutex_);
  state_.problem = std::move(problem);
  ++state_.failed;
}

void RequestThread::end(std::string problem, std::chrono::nanoseconds timeout) {
  if (has_ended_) return;
  {
    std::lock_guard const lock(mutex_);
    if (window_ != nullptr) state_.step = window_->latest_step();
    if (!problem.empty()) state_.problem = std::move(problem);
  }
  give_up(timeout);
}

void RequestThread::give_up(std::chrono::nanoseconds timeout) {
  if (std::exchange(has_ended_, true)) return;
  {
    std::lock_guard const lock(mutex_);
    window_ = nullptr;
    state_.phase = ProcessState::Phase::kEnded;
  }
  ended_.ring();
  static_cast<void>(thread_->wait_until_gone(timeout));
}

std::string RequestThread::problem() {
  std::lock_guard const lock(mutex_);
  return problem_;
}

std::string RequestThread::unpublished() {
  std::lock_guard const lock(mutex_);
  return unpublished_;
}

void RequestThread::fail_because(std::string problem) {
  std::lock_guard const lock(mutex_);
  problem_ = std::move(problem);
}

void RequestThread::run() {
  if (auto const own = take_private_descriptors(); !own) return fail_because(own.error().message);
  if (!make_folder())
    return fail_because(requests_folder(run_) +
                        ": is no folder of this user, or cannot be made; requests cannot reach "
                        "the process");

  forget_dead_processes(run_);
  {
    std::lock_guard const lock(mutex_);
    state_.host = base::host_name();
    state_.process_ids = own_process_ids();
    state_.command = command_line().substr(0, kMaxCommandBytes);
  }

  std::chrono::nanoseconds const period(request_period_ns(state_.world_size));
  do look();
  while (!ended_.wait_until_rung(period));
  next_try_ns_ = 0;
  publish();
}

/// For this user alone. A folder of another user, or a link, does not count.
bool RequestThread::make_folder() {
  ::mkdir(requests_folder(run_).c_str(), 0700);
  return has_requests_folder(run_);
}

void RequestThread::look() {
  look_at_steps(monotonic_ns());
  if (auto const request = read_request(run_)) take_in(*request);
  if (keeps_ring_) look_at_rings();
  publish();
}

/// Where several processes ask for a ring at once, the last one is meant: it is believed when it is
/// there a look later. Who comes later than that has seen it. What was asked for before the process
/// began is not meant for it.
void RequestThread::look_at_rings() {
  auto request = read_ring_request(run_);
  std::unique_lock lock(mutex_);
  bool const is_new = request && request->version == kRequestVersion && request->id != state_.ring;
  if (!is_new) {
    lock.unlock();
    return write_announcement();
  }

  // Another process has just asked: its ring has what this one wanted to show.
  announcement_.reset();
  bool const has_settled = std::exchange(unsettled_, request->id) == request->id;
  if (published_ && !has_settled) return;
  state_.ring = request->id;
  if (published_ && window_ != nullptr) asked_ring_ = std::move(request);
}

void RequestThread::write_announcement() {
  std::unique_lock lock(mutex_);
  auto announcement = std::exchange(announcement_, std::nullopt);
  if (!announcement || window_ == nullptr) return;
  lock.unlock();

  announcement->id = fmt::format("{}-{}-{}", own_process_ids(), ::getpid(), monotonic_ns());
  if (write_request(run_, *announcement)) return;
  lock.lock();
  asked_ring_ = std::move(announcement);  // of this process alone, then
}

/// Windows and stops that were asked for before the process began are not meant for it.
void RequestThread::take_in(Request const& request) {
  std::lock_guard const lock(mutex_);
  if (request.id == state_.request || window_ == nullptr) return;
  state_.request = request.id;
  state_.answer = ProcessState::Answer::kNone;

  if (request.version != kRequestVersion)
    state_.answer = ProcessState::Answer::kOtherVersion;
  else if (request.kind == Request::Kind::kState)
    state_.answer = ProcessState::Answer::kDone;
  else if (published_)
    asked_ = request;
  else
    state_.answer = ProcessState::Answer::kTooLate;
}

void RequestThread::look_at_steps(int64_t now_ns) {
  std::lock_guard const lock(mutex_);
  if (window_ == nullptr) return;

  int64_t const step = window_->latest_step();
  if (step >= 0 && (steps_seen_.empty() || step > steps_seen_.back().second))
    steps_seen_.emplace_back(now_ns, step);
  if (steps_seen_.size() > kStepsSeen) steps_seen_.pop_front();

  state_.step = step;
  state_.step_ns = usual_step_ns(steps_seen_);
  if (!keeps_ring_) state_.phase = phase_of(*window_);
}

/// Written only when it says more than how far the steps are: that is read by those who ask.
void RequestThread::publish() {
  std::unique_lock lock(mutex_);
  ProcessState const now = state_;
  lock.unlock();

  ProcessState without_progress = now;
  if (published_) {
    without_progress.step = published_->step;
    without_progress.step_ns = published_->step_ns;
    if (keeps_ring_) without_progress.window = published_->window;
  }

  // A folder that is full or gone may come back.
  constexpr int64_t kPauseNs = 5'000'000'000;
  int64_t const now_ns = monotonic_ns();
  bool const is_news = !published_ || without_progress != *published_;
  if (now_ns < (is_news ? next_try_ns_ : next_look_ns_)) return;
  next_look_ns_ = now_ns + kPauseNs;
  std::string const file = requests_folder(run_) + "/" + state_file_name(now);
  if (!is_news && ::access(file.c_str(), F_OK) == 0) return;
  auto const write = [&] {
    return write_message(requests_folder(run_), state_file_name(now), to_text(now));
  };
  auto written = write();
  if (!written && make_folder()) written = write();
  if (written)
    published_ = now;
  else
    next_try_ns_ = now_ns + kPauseNs;

  lock.lock();
  unpublished_ = written ? "" : written.error().message;
}

}  // namespace stepscope::tracer
