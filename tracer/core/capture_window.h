// The part of the program that is recorded (window_options.h). It opens once and closes once; where
// there are several the writer thread arms it anew for the next one. Read by every
// recorder on its hot path, moved by the threads of the program that it depends on, ended by the
// writer thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracer/core/clock.h"
#include "tracer/core/window_options.h"

namespace stepscope::tracer {

enum class CaptureMode : uint8_t {
  kStopped,    ///< nothing is recorded any more
  kBaseline,   ///< before the window: only what later events need (devices, streams, names,
               ///< allocations)
  kRecording,  ///< inside
  kEnding  ///< behind it: only device ops that were launched inside, and ends of what began inside
};

class CaptureWindow {
 public:
  explicit CaptureWindow(WindowOptions options)
      : options_(std::move(options)),
        first_step_(options_.steps.value_or(StepRange()).first),
        last_step_(options_.steps.value_or(StepRange()).last),
        mode_(filtered() ? CaptureMode::kBaseline : CaptureMode::kRecording) {}
  explicit CaptureWindow(std::optional<StepRange> steps)
      : CaptureWindow(WindowOptions{.steps = steps}) {}

  /// It opens later than at once.
  [[nodiscard]] bool filtered() const {
    return options_.steps || !options_.range.empty() || options_.delay_ns || options_.from_code;
  }
  /// It closes before the program ends, so that device ops under way then have to be waited for.
  [[nodiscard]] bool ends_early() const { return filtered() || options_.duration_ns; }
  [[nodiscard]] WindowOptions const& options() const { return options_; }
  [[nodiscard]] bool by_steps() const { return options_.steps.has_value(); }
  /// Only when by_steps(): those of the window that is open or opens next.
  [[nodiscard]] StepRange steps() const {
    int64_t const first = first_step_.load(std::memory_order_acquire);
    return {first, last_step_.load(std::memory_order_relaxed)};
  }
  /// The number of the window that is open or opens next: it counts upwards. Read it before
  /// steps().
  [[nodiscard]] uint16_t number() const {
    return StepCounts::of(counts_.load(std::memory_order_acquire)).number;
  }
  [[nodiscard]] CaptureMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void stop() { mode_.store(CaptureMode::kStopped, std::memory_order_relaxed); }

  /// `call` is made once, by the thread that opens the window. Set it before any thread
  /// annotates.
  void when_entered(std::function<void()> call) { when_entered_.push_back(std::move(call)); }

  /// Any thread; only the first call does something. True for that one.
  bool open() {
    CaptureMode expected = CaptureMode::kBaseline;
    if (!mode_.compare_exchange_strong(expected, CaptureMode::kRecording,
                                       std::memory_order_relaxed))
      return false;
    openings_.fetch_add(1, std::memory_order_release);
    for (auto const& call : when_entered_) call();
    return true;
  }
  /// Any thread: the program opens the window. Where the one before is being written, this one
  /// opens as soon as it is. True when it is open, or will be.
  bool open_from_code();
  /// Any thread: the program closes it. One that waited for its turn has passed, then.
  void close_from_code();
  /// How many windows the program closed again before the one before them was written, since the
  /// last call.
  uint64_t take_passed();

  /// The latest step that any thread has begun, only when by_steps(); −1 = none.
  [[nodiscard]] int64_t latest_step() const { return latest_step_.load(std::memory_order_relaxed); }
  /// No window is open, or waits for its steps.
  [[nodiscard]] bool waits_for_request() const {
    return options_.on_request && mode() == CaptureMode::kBaseline &&
           steps().first == kNoSteps.first && !is_timed();
  }
  /// What was asked for last is a stretch of time, whatever the steps in it.
  [[nodiscard]] bool is_timed() const { return is_timed_.load(std::memory_order_acquire); }
  /// The writer thread, where waits_for_request(): the window has these steps. False where no step
  /// was marked yet, or a thread is at the step before the first already: it may have looked for
  /// the window before it was there.
  bool request(StepRange steps);
  /// The writer thread, where waits_for_request(): the window begins so much later than `now_ns`,
  /// which keep_time() was given last. Threads that mark steps take part from their next one on.
  /// False where it has begun already, or would never end.
  bool request_time(int64_t now_ns, int64_t begin_in_ns, int64_t duration_ns);
  /// The writer thread: what was asked for and has not opened is not wanted any more.
  void withdraw_request();
  /// What it was to open at has not happened.
  [[nodiscard]] bool has_never_opened() const { return filtered() && openings() == 0; }
  /// How often it was opened; not counted where it is open from the begin.
  [[nodiscard]] uint64_t openings() const { return openings_.load(std::memory_order_acquire); }
  /// Another window may follow the one that is open or opens next.
  [[nodiscard]] bool has_next() const { return options_.code_repeats || next_steps(); }
  /// The writer thread, once the window is_over() and its device work, too.
  void end() {
    CaptureMode expected = CaptureMode::kRecording;
    mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed);
  }
  /// The writer thread, after end(), when all of the window is written: waits for the next one.
  /// False when no window follows.
  bool arm_again();
  /// Any thread, at any time: nothing more of the host is wanted.
  void close();
  /// The writer thread, each round: what begins or ends by time.
  void keep_time(int64_t now_ns);

  // Called by threads that annotate steps, only when by_steps(). `number`: of the window that the
  // thread knows of; what it says of an earlier one than number() counts no more.
  void thread_begins_annotating() {
    change_counts([](StepCounts& counts) { ++counts.annotating; });
  }
  void thread_begins_step(int64_t step) {
    int64_t latest = latest_step_.load(std::memory_order_relaxed);
    while (latest < step && !latest_step_.compare_exchange_weak(latest, step)) {
    }
  }
  void thread_enters_window(uint16_t number = 0) {
    if (number == this->number()) open();
  }
  void thread_leaves_window(uint16_t number = 0) {
    if (number != this->number()) return;
    ends_now();
    change_counts([&](StepCounts& counts) {
      if (counts.number == number) ++counts.done;
    });
  }
  /// A thread that annotated steps exits; `is_done`: it has left the window.
  void thread_exits(uint16_t number, bool is_done) {
    change_counts([&](StepCounts& counts) {
      if (is_done && counts.number == number)
        ++counts.exited;
      else
        --counts.annotating;
    });
  }

  /// It was closed, or every thread that annotates steps is past the last one; device work of it
  /// may still run.
  [[nodiscard]] bool is_over() const {
    if (closed_.load(std::memory_order_acquire)) return true;
    StepCounts const counts = StepCounts::of(counts_.load(std::memory_order_acquire));
    return by_steps() && counts.done > 0 && counts.done >= counts.annotating;
  }
  /// When is_over(): the moment of monotonic_ns() after which host events are left out. With steps:
  /// the end of the last one.
  [[nodiscard]] int64_t end_ns() const { return end_ns_.load(std::memory_order_acquire); }

 private:
  void close_now();
  /// Where the program opens windows, one call or arming after the other; else no lock is taken.
  [[nodiscard]] std::unique_lock<std::mutex> code_lock() {
    return options_.code_repeats ? std::unique_lock(code_mutex_) : std::unique_lock<std::mutex>();
  }
  /// The steps of the next window; nothing when no window is left.
  [[nodiscard]] std::optional<StepRange> next_steps() const {
    return options_.steps_behind(steps(), latest_step_.load(std::memory_order_relaxed));
  }
  /// Threads that annotate steps, and the window that they are counted for: one word, so that they
  /// change together.
  struct StepCounts {
    uint16_t number, annotating, done, exited;  ///< `exited`: of the `done` ones

    static StepCounts of(uint64_t word) { return std::bit_cast<StepCounts>(word); }
  };
  template <class Change>
  void change_counts(Change const& change) {
    uint64_t word = counts_.load(std::memory_order_relaxed);
    for (uint64_t changed = 0;;) {
      StepCounts counts = StepCounts::of(word);
      change(counts);
      changed = std::bit_cast<uint64_t>(counts);
      if (counts_.compare_exchange_weak(word, changed, std::memory_order_acq_rel)) return;
    }
  }
  void keep_asked_time(int64_t now_ns);
  /// The first close() counts, or of threads that annotate steps the last.
  void ends_now() {
    if (!closed_.load(std::memory_order_acquire))
      end_ns_.store(monotonic_ns(), std::memory_order_release);
  }

  WindowOptions const options_;
  std::atomic<int64_t> first_step_, last_step_;
  std::atomic<int64_t> latest_step_{-1};  ///< that any thread has begun
  std::atomic<CaptureMode> mode_;
  std::atomic<uint64_t> openings_{0};
  std::atomic<bool> closed_{false};
  std::mutex code_mutex_;
  bool opens_when_armed_ = false;  ///< the program has opened the next one already
  uint64_t passed_ = 0;
  std::atomic<int64_t> end_ns_{INT64_MAX};
  std::atomic<uint64_t> counts_{0};
  std::vector<std::function<void()>> when_entered_;
  std::atomic<bool> is_timed_{false};
  // The writer thread's own.
  std::optional<int64_t> prepared_ns_, opened_ns_;
  struct {
    int64_t begin_ns = 0, end_ns = 0;
  } time_;  ///< where is_timed()
};

}  // namespace stepscope::tracer
