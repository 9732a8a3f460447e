// Programs that run for a while, for those who kill them, and clocks that are set.
#include <array>
#include <cstdio>

#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

double end_after_ms(Arguments const& arguments, long otherwise) {
  return now_s() + static_cast<double>(arguments.number(0, otherwise)) / 1e3;
}

int nested_ranges(Arguments const& arguments) {
  for (double const end = end_after_ms(arguments, 500); now_s() < end; sleep_ms(1)) {
    nvtxRangePushA("outer");
    for (int i = 0; i < 100; ++i) {
      nvtxRangePushA("inner");
      nvtxRangePop();
    }
    nvtxRangePop();
  }

  std::puts("end");
  return 0;
}

/// Prints how many marks are made, and when, without a buffer: who kills it knows what should be in
/// the trace. NUMBER: marks, 0 = until it is killed.
int counted_marks(Arguments const& arguments) {
  constexpr long kBetween = 100;
  long const marks = arguments.number(0, 20'000);

  for (long made = 0; marks == 0 || made < marks;) {
    for (long i = 0; i < kBetween; ++i) nvtxMarkA("m");
    made += kBetween;
    sleep_ms(1);

    std::array<char, 64> line{};
    int const length = std::snprintf(line.data(), line.size(), "%ld %.6f\n", made, now_s());
    if (::write(STDOUT_FILENO, line.data(), static_cast<size_t>(length)) < 0) return 0;
  }
  return 0;
}

int long_range(Arguments const& arguments) {
  nvtxRangePushA("epoch");
  for (double const end = end_after_ms(arguments, 500); now_s() < end;) {
    nvtxRangePushA("s");
    sleep_ms(1);
    nvtxRangePop();
  }
  return 0;
}

int mostly_asleep(Arguments const& arguments) {
  work(10);
  for (double const end = end_after_ms(arguments, 500); now_s() < end; sleep_ms(10)) work(10);
  std::puts("end");
  return 0;
}

/// Sets the clock to the time that it shows plus NUMBER seconds. By default none: all
/// programs of the machine share the clock.
int set_clock(Arguments const& arguments) {
  work(10);

  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += arguments.number(0, 0);
  if (::clock_settime(CLOCK_REALTIME, &time) != 0) std::perror("clock_settime");

  work(10);
  sleep_ms(300);
  work(10);
  std::puts("ok");
  return 0;
}

constexpr Case kCases[] = {{"loop", nested_ranges},
                           {"marks", counted_marks},
                           {"longrange", long_range},
                           {"sleep", mostly_asleep},
                           {"clockjump", set_clock}};

}  // namespace

Theme time_cases() { return {"times", kCases}; }

}  // namespace stepscope::attacks
