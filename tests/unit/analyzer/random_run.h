// Small random runs with times within a few hundred ns. Tests compare the fast computations on them
// with twins that look at every ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

/// One process with one device, up to four in-order streams and two launching threads. Ops of a
/// stream overlap on request.
class RandomRun {
 public:
  explicit RandomRun(uint32_t seed, bool overlapping = false)
      : random_(seed), overlapping_(overlapping), on_host_(seed % 2 == 0) {}

  model::Run make() {
    using namespace model;
    for (int t = 0; t < 2; ++t)
      threads_.push_back(
          builder_.add_track({TrackKind::kThread, "thread", t, -1, StreamKind::kCompute, 0}));

    builder_.add_device({0, on_host_ ? "host:0" : "GPU", 0, 1, 0});
    int const streams = pick(0, 4);
    for (int s = 0; s < streams; ++s) add_stream(s);
    for (TrackId const thread : threads_) add_host_events(thread);

    Run run;
    run.ranks.push_back({std::move(builder_).finish(), pick(-50, 50), "random"});
    return run;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  void add_stream(int number) {
    using namespace model;
    TrackId const stream =
        builder_.add_track({TrackKind::kStream, "stream", number, 0, StreamKind::kCompute, 0});

    int64_t at = pick(50, 150);
    for (int i = pick(0, 12); i-- > 0;) {
      at += chance(40) ? 0 : pick(0, 40);
      int64_t const dur = pick(0, 25);
      if (chance(15)) {
        builder_.events(stream).add(EventKind::kStreamWait, at, dur, StringId{0}, 0,
                                    StreamWaitDetail{chance(50) ? 0 : 1, 0});
      } else {
        add_op(stream, at, dur);
      }
      at += overlapping_ && chance(30) ? dur / 2 : dur;
    }
  }

  void add_op(model::TrackId stream, int64_t at, int64_t dur) {
    using namespace model;
    uint64_t const correlation = chance(85) ? ++correlation_ : 0;
    if (correlation != 0)
      builder_.events(threads_[chance(70) ? 0 : 1])
          .add(EventKind::kLaunch, at - pick(0, 60), pick(0, 30), name(), correlation);

    switch (pick(0, 3)) {
      case 0:
        builder_.events(stream).add(EventKind::kMemcpy, at, dur, name(), correlation, CopyDetail{});
        break;
      case 1:
        builder_.events(stream).add(
            EventKind::kCollective, at, dur, name(), correlation,
            CollectiveDetail{100, 1, 0, CollectiveOp::kAllReduce, 2, 0, -1});
        break;
      default:
        builder_.events(stream).add(EventKind::kKernel, at, dur, name(), correlation,
                                    KernelDetail{});
    }
  }

  void add_host_events(model::TrackId thread) {
    using namespace model;
    for (int i = pick(0, 6); i-- > 0;) {
      int64_t const at = pick(0, 400), dur = pick(0, 50);
      switch (pick(0, 5)) {
        case 0:
          builder_.events(thread).add(EventKind::kSync, at, dur, name(), 0, SyncDetail{});
          break;
        case 1:
          builder_.events(thread).add(EventKind::kMemory, at, dur, name(), 0, MemoryDetail{});
          break;
        case 2:
          builder_.events(thread).add(EventKind::kInputWait, at, dur, name());
          break;
        case 3:
          builder_.events(thread).add(EventKind::kOverhead, at, dur, name());
          break;
        default:
          builder_.events(thread).add(EventKind::kRange, at, dur, name());
      }
    }

    int64_t at = pick(0, 100);
    for (int step = 0; thread == threads_[0] && step < 4; ++step) {
      int64_t const dur = pick(1, 90);
      builder_.events(thread).add(EventKind::kStep, at, dur, name(), 0, StepDetail{step});
      at += dur + pick(0, 20);
    }
  }
  model::StringId name() { return builder_.intern("name " + std::to_string(pick(0, 4))); }

  std::mt19937 random_;
  bool overlapping_;
  bool on_host_;
  model::TraceBuilder builder_;
  std::vector<model::TrackId> threads_;
  uint64_t correlation_ = 0;
};

}  // namespace stepscope::analyzer::testing_support
