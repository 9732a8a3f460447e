// Which part of the program is recorded: all of it, the steps A to B, a range, a stretch of time,
// or what the program itself chooses. It opens once and closes once; with several ranges of steps
// the writer thread arms it anew for the next one. Read by every recorder on its hot path, moved by
// the threads of the program that it depends on, ended by the writer thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracer/core/clock.h"

namespace stepscope::tracer {

/// Steps first to last, both inclusive.
struct StepRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  bool operator==(StepRange const&) const = default;
};

/// At most one of steps, range, delay and from_code says when it opens; none of them = at once.
struct WindowOptions {
  std::optional<StepRange> steps;
  std::string range;  ///< from the first NVTX range of this name ("NAME" or "NAME@DOMAIN") opens
                      ///< until it ends
  std::optional<int64_t> delay_ns;  ///< opens this long after recording was prepared
  std::optional<int64_t>
      duration_ns;         ///< closes this long after it opened, if nothing else closes it before
  bool from_code = false;  ///< cudaProfilerStart and …Stop, api::start_capture and stop_capture
  // What follows `steps`, at most one of the two; each is a window of its own.
  std::vector<StepRange> later_steps;  ///< ascending and apart from each other
  int64_t every_steps = 0;             ///< `steps` come again so many later, and so on; 0 = once

  /// Several windows are asked for.
  [[nodiscard]] bool repeats() const { return !later_steps.empty() || every_steps > 0; }
  /// The next range after `now` with a step after `step`; nothing when no range is left.
  [[nodiscard]] std::optional<StepRange> steps_behind(StepRange now, int64_t step) const {
    for (StepRange const& later : later_steps)
      if (later.first > now.last && later.last > step) return later;
    if (every_steps == 0) return {};

    int64_t const ahead = std::max(step - now.last, int64_t{0}) / every_steps + 1;
    int64_t shift = 0;
    StepRange next;
    bool const is_too_far = __builtin_mul_overflow(ahead, every_steps, &shift) ||
                            __builtin_add_overflow(now.last, shift, &next.last);
    next.first = now.first + shift;
    return is_too_far ? std::nullopt : std::optional(next);
  }
};

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
    return {first_step_.load(std::memory_order_relaxed),
            last_step_.load(std::memory_order_relaxed)};
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
  /// What it was to open at has not happened.
  [[nodiscard]] bool has_never_opened() const { return filtered() && openings() == 0; }
  /// How often it was opened; not counted where it is open from the begin.
  [[nodiscard]] uint64_t openings() const { return openings_.load(std::memory_order_acquire); }
  /// The steps of the next window; nothing when no window is left.
  [[nodiscard]] std::optional<StepRange> next_steps() const {
    return options_.steps_behind(steps(), latest_step_.load(std::memory_order_relaxed));
  }
  /// The writer thread, once the window is_over() and its device work, too.
  void end() {
    CaptureMode expected = CaptureMode::kRecording;
    mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed);
  }
  /// The writer thread, after end(), when all of the window is written: waits for the next
  /// steps. False when there are none.
  bool arm_again() {
    auto const next = next_steps();
    if (!next) return false;

    first_step_.store(next->first, std::memory_order_relaxed);
    last_step_.store(next->last, std::memory_order_relaxed);
    end_ns_.store(INT64_MAX, std::memory_order_relaxed);
    closed_.store(false, std::memory_order_relaxed);
    opened_ns_.reset();
    change_counts([](StepCounts& counts) {
      counts.annotating = static_cast<uint16_t>(counts.annotating - counts.exited);
      counts.exited = counts.done = 0;
      ++counts.number;
    });
    CaptureMode expected = CaptureMode::kEnding;
    if (mode_.compare_exchange_strong(expected, CaptureMode::kBaseline, std::memory_order_release))
      return true;
    return expected == CaptureMode::kBaseline;  // else it was stopped
  }
  /// Any thread, at any time: nothing more of the host is wanted.
  void close() {
    ends_now();
    CaptureMode expected = CaptureMode::kRecording;
    if (!mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed)) {
      expected = CaptureMode::kBaseline;
      mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed);
    }
    closed_.store(true, std::memory_order_release);
  }
  /// The writer thread, each round: what begins or ends by time.
  void keep_time(int64_t now_ns) {
    if (!prepared_ns_) prepared_ns_ = now_ns;
    if (options_.delay_ns && now_ns - *prepared_ns_ >= *options_.delay_ns) open();
    if (!opened_ns_ && mode() == CaptureMode::kRecording) opened_ns_ = now_ns;
    if (options_.duration_ns && opened_ns_ && now_ns - *opened_ns_ >= *options_.duration_ns)
      close();
  }

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
  std::atomic<int64_t> end_ns_{INT64_MAX};
  std::atomic<uint64_t> counts_{0};
  std::vector<std::function<void()>> when_entered_;
  std::optional<int64_t> prepared_ns_, opened_ns_;  ///< the writer thread's own
};

}  // namespace stepscope::tracer
