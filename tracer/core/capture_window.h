// Which part of the program is recorded: all of it, the steps A to B, a range, a stretch of time,
// or what the program itself chooses. It opens once and closes once. Read by every recorder on its
// hot path, moved by the threads of the program that it depends on, ended by the writer thread.
#pragma once

#include <atomic>
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
  /// Only when by_steps().
  [[nodiscard]] StepRange const& steps() const { return *options_.steps; }
  [[nodiscard]] CaptureMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void stop() { mode_.store(CaptureMode::kStopped, std::memory_order_relaxed); }

  /// `call` is made once, by the thread that opens the window. To be said before any thread
  /// annotates.
  void when_entered(std::function<void()> call) { when_entered_.push_back(std::move(call)); }

  /// Any thread; only the first call does something. True for that one.
  bool open() {
    CaptureMode expected = CaptureMode::kBaseline;
    if (!mode_.compare_exchange_strong(expected, CaptureMode::kRecording,
                                       std::memory_order_relaxed))
      return false;
    was_opened_ = true;
    for (auto const& call : when_entered_) call();
    return true;
  }
  /// What it was to open at has not happened.
  [[nodiscard]] bool has_never_opened() const { return filtered() && !was_opened_; }
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

  // Called by threads that annotate steps, only when by_steps().
  void thread_begins_annotating() { annotating_.fetch_add(1, std::memory_order_relaxed); }
  void thread_enters_window() { open(); }
  void thread_leaves_window() {
    ends_now();
    done_.fetch_add(1, std::memory_order_release);
  }
  /// A thread that annotated steps exits before its last step.
  void thread_gives_up() { annotating_.fetch_sub(1, std::memory_order_relaxed); }

  /// It was closed, or every thread that annotates steps is past the last one; device work of it
  /// may still run.
  [[nodiscard]] bool is_over() const {
    if (closed_.load(std::memory_order_acquire)) return true;
    int32_t const done = done_.load(std::memory_order_acquire);
    return by_steps() && done > 0 && done >= annotating_.load(std::memory_order_relaxed);
  }
  /// When is_over(): the moment of monotonic_ns() behind which what the host does is not wanted. By
  /// steps the end of the last one.
  [[nodiscard]] int64_t end_ns() const { return end_ns_.load(std::memory_order_acquire); }

 private:
  /// The first close() counts, or of threads that annotate steps the last.
  void ends_now() {
    if (!closed_.load(std::memory_order_acquire))
      end_ns_.store(monotonic_ns(), std::memory_order_release);
  }

  WindowOptions const options_;
  std::atomic<CaptureMode> mode_;
  std::atomic<bool> was_opened_{false}, closed_{false};
  std::atomic<int64_t> end_ns_{INT64_MAX};
  std::atomic<int32_t> annotating_{0}, done_{0};
  std::vector<std::function<void()>> when_entered_;
  std::optional<int64_t> prepared_ns_, opened_ns_;  ///< the writer thread's own
};

}  // namespace stepscope::tracer
