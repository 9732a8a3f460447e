#include "tracer/core/session.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tracer/core/process_info.h"

namespace stepscope::tracer {
namespace {

/// How often rings are drained: rare enough to cost nothing, often enough that a new thread's ring of 2 MB does not fill at 10 M
/// ranges/s.
constexpr std::chrono::milliseconds kDrainPeriod{5};
/// Names of threads are read again this often.
constexpr int64_t kRefreshPeriodNs = 500'000'000;
/// Device work launched in the recorded steps may end this long after the last of them; then recording stops anyway.
constexpr int64_t kDeviceWorkTimeoutNs = 2'000'000'000;
/// File names tried before giving up: as many captures of one process id in one folder are not meant.
constexpr int kNameAttempts = 100;

int64_t epoch_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::string loss_message(SessionReport const& report) {
  if (!report.failure.empty() && report.path.empty()) return fmt::format("stepscope: nothing was recorded: {}", report.failure);
  if (!report.failure.empty())
    return fmt::format("stepscope: {} events were lost: {}; what was written before can be read", report.unwritten,
                       report.failure);
  if (report.dropped > 0)
    return fmt::format("stepscope: {} events did not fit the buffers and were lost, record with a larger {}", report.dropped,
                       report.dropped_setting);
  if (!report.problem.empty()) return fmt::format("stepscope: {}", report.problem);
  return {};
}

Session::Session(CaptureOptions options)
    : options_(std::move(options)),
      tick_source_(choose_tick_source()),
      window_(options_.window),
      origin_(sample_clocks(tick_source_)),
      origin_epoch_ns_(epoch_ns() - (monotonic_ns() - origin_.monotonic_ns)),
      clock_(origin_) {}

Session::~Session() { stop(); }

bool Session::start() {
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool const started = open_file() && start_threads();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) return true;
  window_.stop();
  message_ = loss_message(report_);
  finished_ = true;
  return false;
}

bool Session::start_threads() try {
  writer_thread_ = std::thread([this] { run(); });
  return true;
} catch (std::system_error const& error) {
  report_.failure = fmt::format("no thread could be started ({}), raise the limit of threads", error.what());
  return false;
}

bool Session::stop(std::chrono::seconds timeout) {
  window_.stop();
  if (!writer_thread_.joinable()) return true;
  std::unique_lock lock(mutex_);
  stop_requested_ = true;
  wake_.notify_all();
  if (!wake_.wait_for(lock, timeout, [this] { return finished_.load(); })) return false;
  lock.unlock();
  join_writer();
  return true;
}

void Session::join_writer() {
  std::lock_guard const lock(joining_);
  if (writer_thread_.joinable()) writer_thread_.join();
}

bool Session::end_window(std::chrono::seconds timeout) {
  window_.close();
  std::unique_lock lock(mutex_);
  if (!wake_.wait_for(lock, timeout, [this] { return finished_.load(); })) return false;
  lock.unlock();
  join_writer();
  return true;
}

bool Session::stop_without_locks(std::chrono::seconds timeout) {
  window_.stop();
  stop_requested_ = true;  // seen within kDrainPeriod
  constexpr timespec kPause = {0, 100'000};
  int64_t const until = monotonic_ns() + std::chrono::nanoseconds(timeout).count();
  while (!finished_) {
    if (monotonic_ns() > until) return false;
    ::nanosleep(&kPause, nullptr);
  }
  return true;
}

bool Session::stop_after_crash(std::chrono::seconds timeout) {
  for (auto const& source : sources_) source->program_crashes();
  return stop_without_locks(timeout);
}

void Session::run() {
  ::pthread_setname_np(::pthread_self(), "stepscope");
  try {
    run_until_stopped();
  } catch (std::exception const& error) {
    report_.failure = fmt::format("the writer stopped ({}), free memory and record again", error.what());
  }
  window_.stop();
  for (auto const& source : sources_) source->release();
  message_ = loss_message(report_);
  if (when_over_ && !stop_requested_) when_over_();
  std::lock_guard const lock(mutex_);
  finished_ = true;
  wake_.notify_all();
}

void Session::run_until_stopped() {
  for (bool stopping = false; !stopping;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kDrainPeriod, [this] { return stop_requested_.load(); });
      stopping = stop_requested_;
    }
    drain_once();
    if (window_is_over()) stopping = true;
    if (!stopping) store_.flush(clock_.latest_ns(), false);
  }
  window_.stop();
  finish();
}

/// The file is there, with its description, before the first event: a program that ends at once shows that it was recorded.
bool Session::open_file() {
  store_.info = describe_process(options_, tick_source_, origin_epoch_ns_);
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string const path = options_.folder + "/" + trace_file_name(options_, ::getpid(), attempt);
    auto created = file::TraceWriter::create(path);
    if (created) {
      // A disk that is full already: the next block says so again.
      [[maybe_unused]] auto const written = created->write_description(store_.info, {}, store_.log);
      output_.emplace(std::move(*created));
      store_.set_output(&*output_);
      report_.path = path;
      report_.failure.clear();
      return true;
    }
    report_.failure = created.error().message;
    if (::access(path.c_str(), F_OK) != 0) break;  // not "it exists": the next name would fail too
  }
  return false;
}

void Session::drain_once() {
  for (auto const& source : sources_) source->snapshot();
  clock_.add(sample_clocks(tick_source_));
  window_.keep_time(clock_.latest_ns());
  for (auto const& source : sources_) source->drain(store_, clock_);
  if (clock_.latest_ns() - last_refresh_ns_ < kRefreshPeriodNs) return;
  last_refresh_ns_ = clock_.latest_ns();
  for (auto const& source : sources_) source->refresh(store_);
}

bool Session::window_is_over() {
  if (!window_.is_over()) return false;
  if (done_since_ns_ < 0) done_since_ns_ = clock_.latest_ns();
  bool idle = true;
  for (auto const& source : sources_) idle = idle && source->idle();
  return idle || clock_.latest_ns() - done_since_ns_ > kDeviceWorkTimeoutNs;
}

void Session::add_losses(Source const& source) {
  uint64_t const dropped = source.dropped();
  report_.dropped += dropped;
  store_.log.dropped += dropped - std::min(dropped, source.dropped_on_tracks());  // readers add the tracks' to it
  if (dropped > most_dropped_) {
    most_dropped_ = dropped;
    report_.dropped_setting = source.buffer_setting();
  }
  if (report_.problem.empty()) report_.problem = source.problem();
}

void Session::finish() {
  drain_once();  // what was recorded while the window was being closed
  // Before sources end: should one of them hang in a driver that crashed, what is here is in the file.
  store_.flush(clock_.latest_ns(), true);
  for (auto const& source : sources_) {
    source->refresh(store_);
    source->finish(store_, clock_.latest_ns());
    add_losses(*source);
  }
  if (window_.has_never_opened()) store_.info.facts.emplace_back(kNeverBeganFact, "yes");
  store_.describe_again();
  store_.flush(clock_.latest_ns(), true);
  FileThread::Result const result = output_->finish();
  report_.events = result.written_rows;
  report_.unwritten = result.lost_rows;
  report_.failure = result.failure;
  // The session stays for as long as the process lives, its memory does not.
  output_.reset();
  store_ = TraceStore();
}

void Session::driver_starts() {
  for (auto const& source : sources_) source->driver_starts();
}

void Session::stream_named(void* stream, std::string_view name) {
  for (auto const& source : sources_) source->stream_named(stream, name);
}

void Session::program_exits() {
  for (auto const& source : sources_) source->program_exits();
}

void Session::lock_for_fork() {
  mutex_.lock();
  for (auto const& source : sources_) source->lock_for_fork();
  devices_.lock_for_fork();
}

void Session::unlock_after_fork() {
  devices_.unlock_after_fork();
  for (auto const& source : sources_) source->unlock_after_fork();
  mutex_.unlock();
}

}  // namespace stepscope::tracer
