// Random runs of several ranks for tests of the critical path: they contradict themselves wherever
// traces can.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

/// One to three ranks with up to two devices of up to three streams, with times within some hundred
/// ns. Any events may overlap.
class RandomPathRun {
 public:
  /// `reversed`: the tracks of every rank are added the other way round, nothing else changes.
  explicit RandomPathRun(uint32_t seed, bool reversed = false)
      : random_(seed), reversed_(reversed) {}

  model::Run make() {
    model::Run run;
    int const ranks = pick(1, 3);

    is_tame_ = chance(50);
    has_steps_ = chance(70);
    for (int rank = 0; rank < ranks; ++rank) run.ranks.push_back(make_rank(rank));
    return run;
  }

 private:
  /// A track and its events, kept until the tracks are added.
  struct Planned {
    model::Track track;
    model::EventBatch events;
  };

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  model::RankTrace make_rank(int rank) {
    using namespace model;
    TraceBuilder builder;
    builder.info().rank = rank;
    builder_ = &builder;
    correlation_ = 0;
    sequence_ = 0;
    rank_ = rank;
    planned_.clear();

    for (int t = 0; t < 3; ++t)
      planned_.push_back({{TrackKind::kThread, "thread", t, -1, StreamKind::kCompute, 0}, {}});
    int const devices = pick(1, 2);
    for (int d = 0; d < devices; ++d)
      for (int s = pick(1, 3); s-- > 0;)
        planned_.push_back({{TrackKind::kStream, "stream", s, d, StreamKind::kCompute, 0}, {}});

    for (size_t s = 3; s < planned_.size(); ++s) add_stream(s);
    for (size_t t = 0; t < 3; ++t) add_host_events(t);

    if (reversed_) std::reverse(planned_.begin(), planned_.end());
    for (Planned& planned : planned_)
      builder.append(builder.add_track(planned.track), std::move(planned.events));
    return {std::move(builder).finish(), pick(-30, 30), "random"};
  }

  void add_stream(size_t stream) {
    using namespace model;
    int64_t at = pick(20, 120);

    for (int i = pick(0, 10); i-- > 0;) {
      at += chance(40) ? 0 : pick(0, 40);
      int64_t const dur = chance(10) ? 0 : pick(1, 25);
      if (chance(20)) {
        StreamWaitDetail const detail{pick(-1, 2), pick(-1, 3),
                                      chance(40) ? static_cast<uint64_t>(pick(1, 30)) : 0};
        planned_[stream].events.add(EventKind::kStreamWait, at, dur, name(),
                                    chance(50) ? static_cast<uint64_t>(pick(1, 30)) : 0, detail);
      } else {
        add_op(stream, at, dur);
      }
      at += !is_tame_ && chance(30) ? dur / 2 : dur;
    }
  }

  void add_op(size_t stream, int64_t at, int64_t dur) {
    using namespace model;
    uint64_t correlation = chance(85) ? ++correlation_ : 0;
    if (correlation != 0 && chance(8)) --correlation_;  // the next launch has the same number
    EventBatch& events = planned_[stream].events;

    switch (pick(0, 4)) {
      case 0:
        events.add(EventKind::kMemcpy, at, dur, name(), correlation, CopyDetail{});
        break;
      case 1:
      case 2:
        events.add(EventKind::kCollective, at, dur, name(), correlation,
                   CollectiveDetail{100, 1, sequence_++, CollectiveOp::kAllReduce, 3, rank_, -1});
        break;
      default:
        events.add(EventKind::kKernel, at, dur, name(), correlation, KernelDetail{});
    }
    // Some launches begin after their op.
    if (correlation != 0)
      planned_[static_cast<size_t>(chance(60) ? 0 : pick(1, 2))].events.add(
          EventKind::kLaunch, at - pick(-3, 60), pick(0, 30), name(), correlation);
  }

  void add_host_events(size_t thread) {
    using namespace model;
    EventBatch& events = planned_[thread].events;

    for (int i = pick(0, 8); i-- > 0;) {
      int64_t const at = pick(0, 300), dur = pick(0, 50);
      switch (pick(0, 6)) {
        case 0:
        case 1: {
          SyncDetail const detail{static_cast<SyncKind>(pick(0, 3)), pick(-1, 2), pick(-1, 3),
                                  chance(30) ? static_cast<uint64_t>(pick(1, 30)) : 0};
          events.add(EventKind::kSync, at, dur, name(), 0, detail);
          break;
        }
        case 2:
          events.add(EventKind::kMemory, at, dur, name(), 0, MemoryDetail{});
          break;
        case 3:
          events.add(EventKind::kInputWait, at, dur, name());
          break;
        case 4:
          events.add(EventKind::kMark, at, 0, name());
          break;
        default:
          events.add(EventKind::kRange, at, dur, name());
      }
    }

    int64_t at = pick(0, 60);
    for (int step = 0; has_steps_ && thread == 0 && step < 4; ++step) {
      int64_t const dur = pick(1, 90);
      events.add(EventKind::kStep, at, dur, name(), 0, StepDetail{step});
      at += dur + pick(0, 20);
    }
  }

  model::StringId name() {
    int const number = pick(0, 5);
    return builder_->intern(number == 5 ? std::string("cudaMemcpyAsync")
                                        : "name " + std::to_string(number));
  }

  std::mt19937 random_;
  bool reversed_;
  bool is_tame_ = true, has_steps_ = true;
  model::TraceBuilder* builder_ = nullptr;
  std::vector<Planned> planned_;
  uint64_t correlation_ = 0, sequence_ = 0;
  int32_t rank_ = 0;
};

}  // namespace stepscope::analyzer::testing_support
