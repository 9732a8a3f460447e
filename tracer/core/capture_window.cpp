#include "tracer/core/capture_window.h"

#include <utility>

namespace stepscope::tracer {

void CaptureWindow::close() {
  auto const lock = code_lock();
  close_now();
}

void CaptureWindow::close_now() {
  ends_now();
  CaptureMode expected = CaptureMode::kRecording;
  if (!mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed)) {
    expected = CaptureMode::kBaseline;
    mode_.compare_exchange_strong(expected, CaptureMode::kEnding, std::memory_order_relaxed);
  }
  closed_.store(true, std::memory_order_release);
}

bool CaptureWindow::open_from_code() {
  auto const lock = code_lock();
  if (open() || mode() == CaptureMode::kRecording) return true;
  opens_when_armed_ = options_.code_repeats && mode() == CaptureMode::kEnding;
  return opens_when_armed_;
}

void CaptureWindow::close_from_code() {
  auto const lock = code_lock();
  if (!options_.code_repeats) return close_now();
  if (std::exchange(opens_when_armed_, false))
    ++passed_;
  else if (mode() == CaptureMode::kRecording)
    close_now();
}

uint64_t CaptureWindow::take_passed() {
  auto const lock = code_lock();
  return std::exchange(passed_, 0);
}

bool CaptureWindow::request(StepRange steps) {
  // A thread that reads between the two finds none.
  last_step_.store(steps.last, std::memory_order_relaxed);
  first_step_.store(steps.first, std::memory_order_seq_cst);
  int64_t const latest = latest_step_.load(std::memory_order_seq_cst);
  if (latest >= 0 && latest + 1 < steps.first) return true;
  withdraw_request();
  return false;
}

bool CaptureWindow::request_time(int64_t now_ns, int64_t begin_in_ns, int64_t duration_ns) {
  int64_t begin_ns = 0, end_ns = 0;
  bool const is_endless = __builtin_add_overflow(now_ns, begin_in_ns, &begin_ns) ||
                          __builtin_add_overflow(begin_ns, duration_ns, &end_ns);
  if (begin_in_ns <= 0 || duration_ns <= 0 || is_endless) return false;

  time_ = {begin_ns, end_ns};
  is_timed_.store(true, std::memory_order_release);
  return true;
}

void CaptureWindow::withdraw_request() {
  if (mode() != CaptureMode::kBaseline) return;
  first_step_.store(kNoSteps.first, std::memory_order_release);
  is_timed_.store(false, std::memory_order_release);
}

bool CaptureWindow::arm_again() {
  auto const lock = code_lock();
  auto const next = next_steps();
  if (!next && !options_.code_repeats) return false;

  if (next) {
    last_step_.store(next->last, std::memory_order_relaxed);
    first_step_.store(next->first, std::memory_order_release);
  }

  is_timed_.store(false, std::memory_order_release);
  end_ns_.store(INT64_MAX, std::memory_order_relaxed);
  closed_.store(false, std::memory_order_relaxed);
  opened_ns_.reset();
  change_counts([](StepCounts& counts) {
    counts.annotating = static_cast<uint16_t>(counts.annotating - counts.exited);
    counts.exited = counts.done = 0;
    ++counts.number;
  });

  CaptureMode expected = CaptureMode::kEnding;
  bool const is_armed = mode_.compare_exchange_strong(expected, CaptureMode::kBaseline);
  if (!is_armed && expected != CaptureMode::kBaseline) return false;  // it was stopped
  if (std::exchange(opens_when_armed_, false)) open();
  return true;
}

void CaptureWindow::keep_time(int64_t now_ns) {
  if (!prepared_ns_) prepared_ns_ = now_ns;
  if (options_.delay_ns && now_ns - *prepared_ns_ >= *options_.delay_ns) open();
  if (!opened_ns_ && mode() == CaptureMode::kRecording) opened_ns_ = now_ns;
  if (options_.duration_ns && opened_ns_ && now_ns - *opened_ns_ >= *options_.duration_ns) close();
  if (is_timed()) keep_asked_time(now_ns);
}

void CaptureWindow::keep_asked_time(int64_t now_ns) {
  if (now_ns < time_.begin_ns) return;
  if (mode() != CaptureMode::kBaseline) {
    if (now_ns >= time_.end_ns) close();
    return;
  }

  // However late: who has asked waits for its file.
  last_step_.store(StepRange().last, std::memory_order_relaxed);
  first_step_.store(StepRange().first, std::memory_order_release);
  open();
}

}  // namespace stepscope::tracer
