// A program of another project: all headers together, and one step.
#include <cstdio>

#include <stepscope/annotate.h>
#include <stepscope/capture.h>
#include <stepscope/device_events.h>

int main() {
  for (int64_t i = 0; i < 3; ++i) {
    stepscope::api::Step const step(i);
    stepscope::api::Phase const phase("forward");
    stepscope::api::note("loss", 0.5);
  }
  std::puts("trained 3 steps");
  return 0;
}
