// How long analyze() takes over a run of N device ops: 8 processes of one device, three streams
// each, launches, steps, waits and collectives, as a training run has them. Reported per device op;
// the target for 223 k ops is docs/design/BENCHMARKS.md.
#include <benchmark/benchmark.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/work/kernels.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace {

using namespace stepscope;
using namespace stepscope::model;

constexpr int kDevices = 8;
constexpr int kOpsPerStep = 100;

/// Kernels of 8 µs with 2 µs between them, and every 25th op a collective on its own stream.
void add_step(TraceBuilder& builder, TrackId thread, TrackId const (&streams)[3], int32_t rank,
              int64_t step) {
  int64_t const begin = step * kOpsPerStep * 10'000;
  builder.events(thread).add(EventKind::kStep, begin, kOpsPerStep * 10'000 - 1,
                             builder.intern("step"), 0, StepDetail{step});

  for (int64_t i = 0; i < kOpsPerStep; ++i) {
    auto const correlation = static_cast<uint64_t>(step * kOpsPerStep + i + 1);
    int64_t const at = begin + i * 10'000;
    builder.events(thread).add(EventKind::kRange, at, 6'000,
                               builder.intern("op " + std::to_string(i)));
    builder.events(thread).add(EventKind::kLaunch, at + 1'000, 3'000, builder.intern("launch"),
                               correlation);

    StringId const name = builder.intern("kernel " + std::to_string(i % 40));

    if (i % 25 == 24) {
      CollectiveDetail const detail{1U << 20, 1,    correlation, CollectiveOp::kAllReduce,
                                    kDevices, rank, -1};
      builder.events(streams[2])
          .add(EventKind::kCollective, at + 5'000, 60'000 + rank * 100, name, correlation, detail);
    } else if (i % 25 == 0) {
      builder.events(streams[1])
          .add(EventKind::kMemcpy, at + 5'000, 4'000, name, correlation, CopyDetail{});
    } else {
      builder.events(streams[0])
          .add(EventKind::kKernel, at + 5'000, 8'000, name, correlation, KernelDetail{});
    }
  }
}

Run make_run(int64_t ops) {
  Run run;
  for (int32_t rank = 0; rank < kDevices; ++rank) {
    TraceBuilder builder;
    TrackId const thread =
        builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    TrackId streams[3];
    for (int64_t s = 0; s < 3; ++s)
      streams[s] = builder.add_track({TrackKind::kStream, "stream", s, 0, StreamKind::kCompute, 0});

    for (int64_t step = 0; step < ops / kDevices / kOpsPerStep; ++step)
      add_step(builder, thread, streams, rank, step);

    builder.info().rank = rank;
    builder.info().world_size = kDevices;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }

  return run;
}

void set_counters(benchmark::State& state, int64_t ops) {
  state.counters["ops"] = static_cast<double>(ops);
  state.counters["per_op"] =
      benchmark::Counter(static_cast<double>(ops), benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

/// Device time, split and kernel table: what the target is about.
void bm_device_time(benchmark::State& state) {
  Run const run = make_run(state.range(0));
  std::vector<analyzer::IdleGap> const no_gaps;

  for (auto _ : state) {
    for (analyzer::DeviceOps const& device : analyzer::index_devices(run)) {
      analyzer::DeviceSets const sets = analyzer::unite_ops(device);
      benchmark::DoNotOptimize(
          analyzer::WindowSplitter(sets, no_gaps).split(analyzer::op_window(device)));
      benchmark::DoNotOptimize(analyzer::kernel_table(device, device.ops));
    }
  }

  set_counters(state, state.range(0));
}

void bm_analyze(benchmark::State& state) {
  Run const run = make_run(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(analyzer::analyze(run));
  set_counters(state, state.range(0));
}

BENCHMARK(bm_device_time)->Arg(223'200)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_analyze)->Arg(22'400)->Arg(223'200)->Arg(2'232'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
