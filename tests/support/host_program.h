// Programs without a device, made by hand.
#pragma once

#include <string>
#include <utility>

#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::support {

inline constexpr int64_t kMicrosecond = 1'000;

/// One thread that marks steps, and others that help.
class HostProgram {
 public:
  HostProgram() : main_(thread("main")) {}
  model::TrackId thread(std::string const& name) {
    return builder_.add_track(
        {model::TrackKind::kThread, name, ++threads_, -1, model::StreamKind::kCompute, 0});
  }
  void step(int64_t number, int64_t begin, int64_t end) { step_on(main_, number, begin, end); }
  void step_on(model::TrackId track, int64_t number, int64_t begin, int64_t end) {
    builder_.events(track).add(model::EventKind::kStep, begin, end - begin, builder_.intern("step"),
                               0, model::StepDetail{number});
  }
  void range(int64_t begin, int64_t end, std::string const& name,
             model::EventKind kind = model::EventKind::kRange) {
    range_on(main_, begin, end, name, kind);
  }
  void range_on(model::TrackId track, int64_t begin, int64_t end, std::string const& name,
                model::EventKind kind = model::EventKind::kRange) {
    builder_.events(track).add(kind, begin, end - begin, builder_.intern(name));
  }
  model::Run run(int64_t offset = 0) && {
    model::Run run;
    run.ranks.push_back({std::move(builder_).finish(), offset, ""});
    return run;
  }

 private:
  model::TraceBuilder builder_;
  int64_t threads_ = 0;
  model::TrackId main_;
};

/// Ten steps of 100 µs, 10 µs apart: 30 µs of waiting, 50 µs of work with 20 µs of a range in it.
/// Step `slow` has 400 µs more of the inner range.
inline model::Run loop_with_waits(int64_t slow = -1, int64_t offset = 0) {
  HostProgram program;
  int64_t now = 0;
  for (int64_t number = 0; number < 10; ++number) {
    int64_t const more = number == slow ? 400 * kMicrosecond : 0;
    program.step(number, now, now + 100 * kMicrosecond + more);
    program.range(now, now + 30 * kMicrosecond, "wait for batch", model::EventKind::kInputWait);
    program.range(now + 40 * kMicrosecond, now + 90 * kMicrosecond + more, "forward",
                  model::EventKind::kPhase);
    program.range(now + 50 * kMicrosecond, now + 70 * kMicrosecond + more, "tokenize");

    now += 110 * kMicrosecond + more;
  }

  return std::move(program).run(offset);
}

}  // namespace stepscope::support
