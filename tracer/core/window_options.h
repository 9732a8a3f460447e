// Which part of the program is recorded: all of it, the steps A to B, a range or a stretch of time.
// Or it is chosen while the program runs, by the program itself or by who asks for steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::tracer {

/// Steps first to last, both inclusive.
struct StepRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  bool operator==(StepRange const&) const = default;
};

/// No steps, before the first request for some.
inline constexpr StepRange kNoSteps{INT64_MAX, INT64_MAX};

/// At most one of steps, range, delay and from_code says when it opens; none of them = at once.
struct WindowOptions {
  std::optional<StepRange> steps;
  std::string range;  ///< from the first NVTX range of this name ("NAME" or "NAME@DOMAIN") opens
                      ///< until it ends
  std::optional<int64_t> delay_ns;  ///< opens this long after recording was prepared
  std::optional<int64_t>
      duration_ns;         ///< closes this long after it opened, if nothing else closes it before
  bool from_code = false;  ///< cudaProfilerStart and …Stop, api::start_capture and stop_capture
  // What follows the first window, at most one of the four; each is a window of its own.
  std::vector<StepRange> later_steps;  ///< ascending and apart from each other
  int64_t every_steps = 0;             ///< `steps` come again so many later, and so on; 0 = once
  bool on_request = false;    ///< any number of steps that are asked for; `steps` are kNoSteps
  bool code_repeats = false;  ///< with from_code: as often as the program opens and closes one

  /// Several windows are asked for.
  [[nodiscard]] bool repeats() const {
    return !later_steps.empty() || every_steps > 0 || on_request || code_repeats;
  }
  /// The next range after `now` with a step after `step`; nothing when no range is left.
  [[nodiscard]] std::optional<StepRange> steps_behind(StepRange now, int64_t step) const {
    for (StepRange const& later : later_steps)
      if (later.first > now.last && later.last > step) return later;
    if (on_request) return kNoSteps;
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

}  // namespace stepscope::tracer
