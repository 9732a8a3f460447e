#include "tracer/core/session.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include "trace/base/files/run_folder.h"
#include "tracer/core/process/process_info.h"
#include "tracer/core/process/trace_files.h"
#include "tracer/core/threads/short_slices.h"
#include "tracer/core/unforked_memory.h"

namespace stepscope::tracer {
namespace {

/// How often rings are drained: rare enough to cost nothing, often enough that a new thread's ring
/// of 2 MB does not fill at 10 M ranges/s.
constexpr std::chrono::milliseconds kDrainPeriod{5};
/// Where a ring is kept, as it is for weeks, or no window is open: each wake interrupts a busy
/// processor. Threads that record more than their rings hold get larger ones meanwhile.
constexpr std::chrono::milliseconds kRingDrainPeriod{20};
/// Where only a request can begin a window: it comes through this thread, long before its step.
constexpr std::chrono::milliseconds kRequestDrainPeriod{100};
/// Names of threads are read again this often.
constexpr int64_t kRefreshPeriodNs = 500'000'000;
/// How often is looked whether the program's threads have all ended.
constexpr int64_t kLookPeriodNs = 50'000'000;
/// Device work launched in the recorded steps may end this long after the last of them; then
/// recording stops anyway.
constexpr int64_t kDeviceWorkTimeoutNs = 2'000'000'000;
/// The last words of the thread that answers requests may take so long at most.
constexpr std::chrono::seconds kRequestTimeout{1};
/// Fits the memory that is kept for it. Said as it is, or behind "0 events were lost: ".
constexpr char kMemoryRanOut[] =
    "stepscope: memory ran out, the last events were lost; free memory and record again";

void add_facts(model::TraceInfo& info, std::vector<std::pair<std::string, std::string>> facts) {
  auto const own = info.facts;
  for (auto& fact : facts) {
    bool const is_there = std::any_of(own.begin(), own.end(),
                                      [&](auto const& one) { return one.first == fact.first; });
    if (!is_there) info.facts.push_back(std::move(fact));
  }
}

}  // namespace

std::string loss_message(SessionReport const& report) {
  if (!report.failure.empty() && report.path.empty())
    return fmt::format("stepscope: nothing was recorded: {}", report.failure);
  if (!report.failure.empty())
    return fmt::format("stepscope: {} events were lost: {}; what was written before can be read",
                       report.unwritten, report.failure);

  if (report.dropped > 0)
    return fmt::format(
        "stepscope: {} events did not fit the buffers and were lost, record with a larger {}",
        report.dropped, report.dropped_setting);

  if (report.interrupting > 0)
    return fmt::format(
        "stepscope: {} events of signal handlers were lost, which interrupted the recording of "
        "another event",
        report.interrupting);

  if (!report.problem.empty()) return fmt::format("stepscope: {}", report.problem);
  return {};
}

Session::Session(CaptureOptions options)
    : options_(std::move(options)),
      tick_source_(choose_tick_source()),
      window_(options_.window),
      origin_(sample_clocks(tick_source_)),
      origin_epoch_ns_(epoch_ns() - (monotonic_ns() - origin_.monotonic_ns)),
      clock_(origin_) {
  message_.reserve(sizeof kMemoryRanOut);
  report_.failure.reserve(sizeof kMemoryRanOut);
}

Session::~Session() { stop(); }

bool Session::start() {
  bool const is_later = options_.forked || options_.window.repeats();
  if (options_.window.repeats()) store_.expect_several_files();
  if (options_.ring) flight_.emplace(options_, store_);
  if (options_.stream && !window_.ends_early()) stream_.emplace(options_, store_);

  // A forked child has no steps as a rule, and what it would keep is lost when it is killed.
  bool const is_left_out = is_endless() && options_.forked;
  bool const may_start = !is_left_out && (is_later || (begin_file() && file_is_open())) && listen();
  if (may_start && begin_stream() && start_thread()) return true;

  if (requests_) requests_->end(report_.failure, kRequestTimeout);
  output_.reset();
  report_.path.clear();
  window_.stop();
  message_ = loss_message(report_);
  finished_.ring();
  return false;
}

bool Session::start_thread() {
  auto thread = OwnThread::start("stepscope-drain", [this] { run(); });
  if (thread) {
    writer_thread_ = std::move(*thread);
    return true;
  }
  report_.failure = thread.error().message;
  return false;
}

bool Session::stop(std::chrono::seconds timeout) {
  window_.stop();
  if (!writer_thread_) return true;  // it was never started
  stop_requested_.ring();
  if (!wait_for_end(timeout)) return false;
  join_writer();
  return true;
}

/// Waits until the writer thread is gone, not only for its bell. A preempted writer would hold up
/// the end of the process until its next turn.
bool Session::wait_for_end(std::chrono::seconds timeout) const {
  if (writer_thread_) static_cast<void>(writer_thread_->wait_until_gone(timeout));
  return finished_.has_rung();
}

void Session::join_writer() const {
  if (writer_thread_) writer_thread_->join();
}

bool Session::end_window(std::chrono::seconds timeout) {
  is_last_window_.store(true, std::memory_order_relaxed);
  end_reason_.store("the program ended its recording", std::memory_order_relaxed);
  window_.close();
  if (!wait_for_end(timeout)) return false;
  join_writer();
  return true;
}

bool Session::stop_without_locks(std::chrono::seconds timeout) {
  window_.stop();
  stop_requested_.ring();
  return wait_for_end(timeout);
}

bool Session::stop_after_crash(std::chrono::seconds timeout) {
  for (auto const& source : sources_) source->program_crashes();
  end_reason_.store("the program crashed, or a signal ended it", std::memory_order_relaxed);
  return stop_without_locks(timeout);
}

void Session::run() {
  try {
    run_until_stopped();
  } catch (...) {
    // Nothing is thrown here but for lack of memory. What had been handed to the file thread is in
    // the file.
    report_.failure = kMemoryRanOut;
    if (output_) output_->end_with_index();
    if (requests_) requests_->give_up(kRequestTimeout);
  }

  window_.stop();
  try {
    for (auto const& source : sources_) source->release();
    message_ = loss_message(report_);
  } catch (...) {
    message_ = kMemoryRanOut;
  }

  try {
    if (when_over_ && !stop_requested_.has_rung()) when_over_();
  } catch (...) {
    // What is installed stays and finds that recording has ended.
  }

  finished_.ring();
  if (program_ended_) end_own_threads();
  if (main_thread_status_ == 0) return;
  wait_for_thread_count(2);  // this one and the main thread that has exited
  ::syscall(SYS_exit, main_thread_status_);
}

void Session::run_until_stopped() {
  bool stopping = false;
  if (options_.forked && !options_.window.repeats()) {
    stopping = stop_requested_.wait_for(kDrainPeriod);
    if (!open_file_of_fork(stopping)) {
      output_.reset();
      return;
    }
  } else {
    take_usual_slices();
  }

  while (!stopping) {
    stopping = stop_requested_.wait_for(drain_period());
    drain_once();
    if (is_endless()) look_at_what_passes();
    if (!begin_window_file()) break;
    answer_request();
    if (window_is_over()) stopping = !goes_on() || stopping;
    if (program_has_ended()) stopping = true;
    if (!stopping) store_.flush(clock_.latest_ns(), false);
  }
  window_.stop();
  finish();
}

std::chrono::milliseconds Session::drain_period() const {
  if (is_endless()) return kRingDrainPeriod;
  // What begins by time or from code begins, or ends, at once.
  bool const begins_at_a_step = window_.by_steps() && !window_.is_timed();
  if (window_.mode() != CaptureMode::kBaseline || !begins_at_a_step) return kDrainPeriod;
  return window_.waits_for_request() ? kRequestDrainPeriod : kRingDrainPeriod;
}

bool Session::begin_file() {
  file_threads_ = 1;
  auto output = FileThread::begin([this] { return begin_output(); });

  if (!output) {
    file_threads_ = 0;
    report_.failure = output.error().message;
    return false;
  }

  output_ = std::move(*output);
  if (flight_)
    flight_->begin(*output_);
  else if (stream_)
    store_.keep_nothing(output_.get());
  else if (options_.window.repeats())
    store_.begin_file(output_.get());
  else
    store_.set_output(output_.get());
  if (stream_) store_.add_watcher(*stream_);
  return true;
}

/// Where all cores are busy, each new thread waits some milliseconds for its first turn. A forked
/// child has one new thread, and a second one only when it lives for longer than that and one
/// period of drains. No thread of the program waits for the file.
bool Session::open_file_of_fork(bool is_ending) {
  Driver none = Driver::kNone;
  bool const is_alone = is_ending && driver_.compare_exchange_strong(none, Driver::kTooLate);
  return is_alone ? write_file_here() : begin_file() && file_is_open();
}

/// This thread never uses the program's descriptors again, so no source may start a driver that
/// does. The program waits, most likely in its main thread.
bool Session::write_file_here() {
  if (process_ends_next_.load(std::memory_order_relaxed)) give_short_slices(::getpid());
  auto output = FileThread::here([this] { return create_file(); });
  if (!output) {
    report_.failure = output.error().message;
    return false;
  }
  output_ = std::move(*output);
  store_.set_output(output_.get());
  return true;
}

/// The file is there, with its description, before the first event: a program that ends at once
/// shows that it was recorded.
bool Session::file_is_open() {
  auto const opened = output_->wait_until_open();
  if (opened) return true;
  if (output_->did_not_start()) [[maybe_unused]]
    FileThread* const left_alone = output_.release();
  report_.failure = opened.error().message;
  report_.path.clear();
  return false;
}

/// On the file thread, while nothing else uses the store: what tells of the process is read through
/// descriptors, too.
base::Expected<file::TraceWriter> Session::create_file() {
  if (!options_.forked) take_usual_slices();
  CaptureOptions const options = options_of_file();
  auto earlier_facts = std::move(store_.info.facts);
  store_.info = describe_process(options, tick_source_, origin_epoch_ns_);
  add_facts(store_.info, std::move(earlier_facts));

  auto created = create_trace_file(options_, options.folder);
  if (!created) return base::fail_with(created);
  // A disk that is full already: the next block says so again.
  [[maybe_unused]] auto const written =
      created->writer.write_description(store_.info, {}, store_.log);
  report_.path = created->path;
  return std::move(created->writer);
}

void Session::drain_once() {
  for (auto const& source : sources_) source->snapshot();
  clock_.add(sample_clocks(tick_source_));
  window_.keep_time(clock_.latest_ns());
  for (auto const& source : sources_) source->drain(store_, clock_);
  if (clock_.latest_ns() - last_refresh_ns_ < kRefreshPeriodNs) return;

  last_refresh_ns_ = clock_.latest_ns();
  dropped_ = 0;
  for (auto const& source : sources_) {
    source->refresh(store_);
    dropped_ += source->dropped();
  }
  store_.read_names();
}

bool Session::window_is_over() {
  if (!window_.is_over()) return false;
  if (done_since_ns_ < 0) done_since_ns_ = clock_.latest_ns();
  bool idle = true;
  for (auto const& source : sources_) idle = idle && source->idle();
  return idle || clock_.latest_ns() - done_since_ns_ > kDeviceWorkTimeoutNs;
}

/// The writer thread and the file's, and those of sources.
int64_t Session::own_threads() const {
  int64_t threads = 1 + file_threads_ + (flight_ ? flight_->threads() : 0) +
                    (stream_ ? stream_->threads() : 0) + (requests_ ? requests_->threads() : 0);
  for (auto const& source : sources_) threads += source->threads();
  return threads;
}

void Session::end_own_threads() {
  for (auto const& source : sources_) source->end_threads();
}

bool Session::counts_other_threads() const {
  int64_t const threads = thread_count();
  return threads == 0 || threads > own_threads() + 1;
}

/// A process lives as long as one of its threads, so ours would keep a program alive whose main
/// thread left by pthread_exit() and whose others have ended. The system counts a main thread that
/// has exited until the process ends.
bool Session::program_has_ended() {
  if (clock_.latest_ns() - last_look_ns_ < kLookPeriodNs) return false;
  last_look_ns_ = clock_.latest_ns();
  if (!main_thread_has_exited() || thread_count() != own_threads() + 1) return false;

  if (output_)
    output_->submit(0, [this](file::TraceWriter&) {
      main_thread_status_ = exit_status_of_main_thread();
      return base::Expected<void>();
    });
  else  // between two windows; the program uses its descriptors no more
    main_thread_status_ = exit_status_of_main_thread();
  program_ended_ = true;
  return true;
}

void Session::add_losses(Source const& source) {
  Losses const all = {source.dropped(), source.dropped_in_signal_handlers(),
                      source.dropped_on_tracks()};
  Losses const reported = std::exchange(reported_losses_[&source], all);
  uint64_t const dropped = all.dropped - std::min(reported.dropped, all.dropped);
  uint64_t const interrupting = std::min(dropped, all.interrupting - reported.interrupting);

  report_.dropped += dropped - interrupting;
  report_.interrupting += interrupting;
  // Tracks tell of their own; doctor says the rest with its remedy.
  uint64_t const trackless = dropped - std::min(dropped, all.on_tracks - reported.on_tracks);
  store_.log.dropped += trackless;  // readers add the tracks' to it
  if (trackless > 0 && dropped > interrupting)
    store_.log.notes.push_back(
        fmt::format("{} events did not fit the buffers and were lost: record with a larger {}",
                    trackless, source.buffer_setting()));

  if (dropped - interrupting > most_dropped_) {
    most_dropped_ = dropped - interrupting;
    report_.dropped_setting = source.buffer_setting();
  }
  add_problem(source);
}

void Session::add_problem(Source const& source) {
  std::string const problem = source.problem();
  if (problem.empty()) return;
  if (report_.problem.empty()) report_.problem = problem;
  // A line on stderr is gone when the trace is read.
  std::vector<std::string>& notes = store_.log.notes;
  if (std::find(notes.begin(), notes.end(), problem) == notes.end()) notes.push_back(problem);
}

/// Before sources end: should one of them hang in a driver that crashed, what is here is in the
/// file.
void Session::bring_names() {
  store_.flush(clock_.latest_ns(), true);
  for (auto const& source : sources_) source->refresh(store_);
  if (!output_ || !store_.lacks_a_name()) return;
  store_.read_names();
  output_->wait_until_idle();
}

/// Everything that has ended is in the file then.
void Session::close_file() {
  if (uint64_t const passed = window_.take_passed(); passed > 0)
    store_.log.notes.push_back(
        fmt::format("{} windows of the program are missing: it closed them again before the file "
                    "of the one before them was written",
                    passed));
  store_.describe_again();
  store_.flush(clock_.latest_ns(), true);
  FileThread::Result const result = output_->finish();
  file_threads_ = 0;
  report_.events += result.written_rows;
  report_.unwritten += result.lost_rows;
  if (report_.failure.empty()) report_.failure = result.failure;

  if (requests_ && report_.failure.empty() && !window_.has_never_opened())
    requests_->window_was_written(report_.path);
  store_.leave_file();
  store_.log = {};
  output_.reset();
}

void Session::finish() {
  drain_once();  // what was recorded while the window was being closed
  begin_window_file();
  // A program that ends before the first of several windows shows that it was recorded.
  // A forked child does not: loaders of data have no steps.
  // Nor does a program that was started by one that opens windows without the command.
  bool const is_own = options_.window.code_repeats && !options_.report_loss;
  if (!output_ && window_.has_never_opened() && !options_.forked && !is_own) begin_next_file();
  bring_names();

  for (auto const& source : sources_) {
    source->refresh(store_);
    source->finish(store_, clock_.latest_ns());
    if (!flight_) add_losses(*source);
  }

  if (window_.has_never_opened()) store_.info.facts.emplace_back(kNeverBeganFact, "yes");
  if (output_ && is_endless())
    close_endless();
  else if (output_)
    close_file();
  if (requests_) {
    requests_->end(report_.failure, kRequestTimeout);
    if (report_.problem.empty()) report_.problem = requests_->problem();
    if (report_.problem.empty()) report_.problem = requests_->unpublished();
  }

  // The session stays for as long as the process lives, its memory does not.
  store_ = TraceStore();
}

void Session::driver_starts() {
  Driver none = Driver::kNone;
  if (!driver_.compare_exchange_strong(none, Driver::kStarts) && none == Driver::kTooLate)
    return;  // recording has ended
  for (auto const& source : sources_) source->driver_starts();
}

void Session::stream_named(void* stream, std::string_view name) {
  for (auto const& source : sources_) source->stream_named(stream, name);
}

void Session::program_exits() {
  for (auto const& source : sources_) source->program_exits();
}

void Session::lock_for_fork() {
  for (auto const& source : sources_) source->lock_for_fork();
  devices_.lock_for_fork();
}

void Session::unlock_after_fork() {
  devices_.unlock_after_fork();
  for (auto const& source : sources_) source->unlock_after_fork();
}

}  // namespace stepscope::tracer
