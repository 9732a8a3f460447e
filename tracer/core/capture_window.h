// Which part of the program is recorded: all of it, or the steps A to B (STEPSCOPE_STEPS). Read by every recorder on its hot
// path, moved by the threads that annotate steps, ended by the writer thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace stepscope::tracer {

/// Steps first to last, both inclusive.
struct StepRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
};

enum class CaptureMode : uint8_t {
  kStopped,   ///< nothing is recorded any more
  kBaseline,  ///< before the first step: only what later events need (devices, streams, names, allocations)
  kRecording
};

class CaptureWindow {
 public:
  explicit CaptureWindow(std::optional<StepRange> steps)
      : steps_(steps), mode_(steps ? CaptureMode::kBaseline : CaptureMode::kRecording) {}

  [[nodiscard]] bool filtered() const { return steps_.has_value(); }
  /// Only when filtered().
  [[nodiscard]] StepRange const& steps() const { return *steps_; }
  [[nodiscard]] CaptureMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void stop() { mode_.store(CaptureMode::kStopped, std::memory_order_relaxed); }

  /// `call` is made once, by the thread that enters the window first. To be said before any thread annotates.
  void when_entered(std::function<void()> call) { when_entered_.push_back(std::move(call)); }

  // Called by threads that annotate steps, only when filtered().
  void thread_begins_annotating() { annotating_.fetch_add(1, std::memory_order_relaxed); }
  void thread_enters_window() {
    CaptureMode expected = CaptureMode::kBaseline;
    if (!mode_.compare_exchange_strong(expected, CaptureMode::kRecording, std::memory_order_relaxed)) return;
    for (auto const& call : when_entered_) call();
  }
  void thread_leaves_window() { done_.fetch_add(1, std::memory_order_release); }
  /// A thread that annotated steps exits before its last step.
  void thread_gives_up() { annotating_.fetch_sub(1, std::memory_order_relaxed); }

  /// Every thread that annotates steps is past the last one; its device work may still run.
  [[nodiscard]] bool all_threads_done() const {
    int32_t const done = done_.load(std::memory_order_acquire);
    return filtered() && done > 0 && done >= annotating_.load(std::memory_order_relaxed);
  }

 private:
  std::optional<StepRange> steps_;
  std::atomic<CaptureMode> mode_;
  std::atomic<int32_t> annotating_{0}, done_{0};
  std::vector<std::function<void()>> when_entered_;
};

}  // namespace stepscope::tracer
