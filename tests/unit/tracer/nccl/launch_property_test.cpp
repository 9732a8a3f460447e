// Property: each kernel carries the calls that its launch was for, with their bytes; all other
// kernels stay kernels. It holds for all groups of calls of a program and for every thread on which
// NCCL reports their plans.
#include <cstring>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nccl/nccl_fixture.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::tracer::nccl {
namespace {

using Event = EventV5;

/// Plays NCCL for a random program, and knows which launch every call belongs to.
class Simulation {
 public:
  explicit Simulation(uint32_t seed) : random_(seed) {
    for (uint64_t i = 0; i < 3; ++i) contexts_.push_back(nccl_.context({i + 1, 0, 4, "", 5}));
  }

  void run(int groups) {
    for (int i = 0; i < groups; ++i) {
      launch_something_else();
      play_group();
      if (below(3) == 0) tell_late_plans();
      if (below(8) == 0) nccl_.drain();
    }
    tell_late_plans();
  }

  /// The trace that readers see: what the source wrote, and what CUPTI reports about launches and
  /// kernels.
  model::Trace trace() {
    model::TraceBuilder builder;
    model::TrackId const stream =
        builder.add_track({model::TrackKind::kStream, "stream", 7, 0, {}, 0});
    std::map<int64_t, model::TrackId> threads;
    for (int64_t const id : {kThread, kDriverThread})
      threads[id] = builder.add_track({model::TrackKind::kThread, "thread", id, -1, {}, 0});

    for (CallRow const& row : nccl_.finish())
      builder.events(threads.at(row.thread))
          .add(model::EventKind::kCollectiveCall, row.start, row.dur, builder.intern(row.name), 0,
               row.detail);

    model::KernelDetail grid;
    grid.grid_x = kChannels;
    grid.grid_y = grid.grid_z = 1;
    for (auto const& [correlation, launch] : launches_) {
      int64_t const time = nccl_.clock.monotonic_to_trace_ns(launch.time);
      builder.events(threads.at(kThread))
          .add(model::EventKind::kLaunch, time, 0, builder.intern("launch"), correlation);
      builder.events(stream).add(model::EventKind::kKernel, time + 1'000, 10,
                                 builder.intern("kernel"), correlation, grid);
    }

    return std::move(builder).finish();
  }
  /// Bytes that the kernel of the launch carries; 0 = the kernel is not NCCL's.
  [[nodiscard]] uint64_t bytes_of(uint64_t correlation) const {
    return launches_.at(correlation).bytes;
  }
  [[nodiscard]] size_t launch_count() const { return launches_.size(); }

 private:
  static constexpr int64_t kThread = 100, kDriverThread = 200;
  static constexpr uint8_t kChannels = 4;

  struct Launch {
    int64_t time = 0;
    uint64_t bytes = 0;
  };
  /// Calls that one kernel runs.
  struct Plan {
    void* context = nullptr;
    std::vector<void*> calls;
    std::vector<size_t> counts;
  };

  size_t below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }
  static Event plain_event(uint64_t type, void* parent) {
    Event event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.type = type;
    event.parent = parent;
    return event;
  }

  void launch_something_else() { launches_[++correlation_] = {monotonic_ns(), 0}; }

  void play_group() {
    void* const group = nccl_.start(*thread_, contexts_[0], plain_event(kGroupCall, nullptr));
    size_t const communicators = 1 + below(contexts_.size());

    for (size_t c = 0; c < communicators; ++c) {
      std::vector<Plan> plans(1 + below(3));
      for (Plan& plan : plans) call(group, contexts_[c], plan);
      bool const has_live_graph = below(3) == 0;
      for (Plan const& plan : plans) {
        launch(group, plan);
        if (has_live_graph)
          late_.push_back(plan);
        else
          report_plan(*thread_, plan);
      }
    }

    thread_->end(to_handle(group));
  }
  void call(void* group, void* context, Plan& plan) {
    plan.context = context;
    for (size_t i = 0, count = 1 + below(3); i < count; ++i) {
      Event event = plain_event(kCollectiveCall, group);
      event.collective_call.function = "AllReduce";
      event.collective_call.count = 1 + below(1'000);
      event.collective_call.data_type = "ncclInt8";

      plan.counts.push_back(event.collective_call.count);
      plan.calls.push_back(nccl_.start(*thread_, context, event));
      thread_->end(to_handle(plan.calls.back()));
    }
  }
  void launch(void* group, Plan const& plan) {
    void* const handle = nccl_.start(*thread_, plan.context, plain_event(kKernelLaunch, group));
    Launch& launch = launches_[++correlation_];
    launch.time = monotonic_ns();
    for (size_t const count : plan.counts) launch.bytes += count;
    thread_->end(to_handle(handle));
  }
  void report_plan(Recorder& reporter, Plan const& plan) {
    void* const handle = nccl_.start(reporter, plan.context, plain_event(kGroup, nullptr));

    for (size_t i = 0; i < plan.calls.size(); ++i) {
      Event event = plain_event(kCollective, plan.calls[i]);
      event.collective.function = "AllReduce";
      event.collective.count = plan.counts[i];
      event.collective.data_type = "ncclInt8";
      event.collective.channels = kChannels;
      event.collective.group = handle;
      reporter.end(to_handle(nccl_.start(reporter, plan.context, event)));
    }

    reporter.end(to_handle(handle));
  }
  void tell_late_plans() {
    for (Plan const& plan : late_) report_plan(*driver_thread_, plan);
    late_.clear();
  }

  NcclPipeline nccl_;
  std::mt19937 random_;
  Recorder* driver_thread_ =
      nccl_.source.attach(kDriverThread);  // drained first: its plans come before their launches
  Recorder* thread_ = nccl_.source.attach(kThread);
  std::vector<void*> contexts_;
  std::vector<Plan> late_;
  std::map<uint64_t, Launch> launches_;  ///< by correlation
  uint64_t correlation_ = 0;
};

TEST(NcclLaunchProperty, each_kernel_carries_the_calls_of_its_launch) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Simulation simulation(seed);
    simulation.run(100);
    model::Trace const trace = simulation.trace();
    size_t kernels = 0;

    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      bool const is_collective = trace.kind(row) == model::EventKind::kCollective;
      if (!is_collective && trace.kind(row) != model::EventKind::kKernel) continue;
      ++kernels;
      uint64_t const expected = simulation.bytes_of(trace.columns().correlation[row]);
      uint64_t const carried = is_collective ? trace.detail<model::CollectiveDetail>(row).bytes : 0;
      EXPECT_EQ(carried, expected) << "seed " << seed;
    }

    EXPECT_EQ(kernels, simulation.launch_count());
  }
}

}  // namespace
}  // namespace stepscope::tracer::nccl
