// The critical path of runs of growing size. In the first run, host and device of one rank take
// turns at being late, with event waits, syncs and copies. In the second, 8 ranks join in
// collectives, and another rank is late each time. Target: a trace of 2.2 M events in a second.
#include <string>

#include <benchmark/benchmark.h>

#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/time/device_time.h"
#include "trace/model/build/trace_builder.h"

namespace {

using namespace stepscope;
using namespace stepscope::model;

constexpr int64_t kOpsPerStep = 250;
constexpr int64_t kEventsPerOp = 10;  // a device op, its launch, eight ranges of the framework

/// One rank as it is made: where its host and its streams have got to.
struct Maker {
  TraceBuilder builder;
  TrackId thread, compute, copy, comm;
  int64_t host = 0, compute_end = 0, comm_end = 0;
  uint64_t correlation = 0;

  Maker() {
    thread = builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    compute = builder.add_track({TrackKind::kStream, "compute", 0, 0, StreamKind::kCompute, 0});
    copy = builder.add_track({TrackKind::kStream, "copy", 1, 0, StreamKind::kCopy, 0});
    comm = builder.add_track({TrackKind::kStream, "comm", 2, 0, StreamKind::kCommunication, 0});
  }
  void launch(int64_t index) {
    for (int64_t depth = 0; depth < kEventsPerOp - 2; ++depth)
      builder.events(thread).add(EventKind::kRange, host + depth * 100, 5'000 - depth * 200,
                                 builder.intern("op " + std::to_string((index + depth) % 60)));
    builder.events(thread).add(EventKind::kLaunch, host + 1'500, 2'000,
                               builder.intern("cudaLaunchKernel"), ++correlation);
    host += 5'500;
  }
  void kernel(int64_t index, int64_t dur) {
    launch(index);
    compute_end = std::max(compute_end + 1'000, host + 1'000);
    builder.events(compute).add(EventKind::kKernel, compute_end, dur,
                                builder.intern("kernel " + std::to_string(index % 40)), correlation,
                                KernelDetail{});
    compute_end += dur;
  }
  void copy_batch(int64_t index) {
    launch(index);
    builder.events(copy).add(EventKind::kMemcpy, host + 1'000, 4'000, builder.intern("copy"),
                             correlation, CopyDetail{});
    if (host + 5'000 <= compute_end) return;
    builder.events(compute).add(EventKind::kStreamWait, compute_end, host + 5'000 - compute_end,
                                builder.intern("wait"), 0, StreamWaitDetail{0, 1});
    compute_end = host + 5'000;
  }
  void sync() {
    int64_t const end = std::max(host, compute_end) + 2'000;
    builder.events(thread).add(EventKind::kSync, host, end - host,
                               builder.intern("cudaDeviceSynchronize"), 0,
                               SyncDetail{SyncKind::kDevice, 0, -1});
    host = end;
  }
};

void add_step(std::vector<Maker>& ranks, int64_t step) {
  auto const count = static_cast<int64_t>(ranks.size());
  std::vector<int64_t> begins;
  for (Maker& rank : ranks) begins.push_back(rank.host);

  for (int64_t i = 0; i < kOpsPerStep; ++i) {
    bool const is_collective = count > 1 && i % 25 == 24;
    int64_t arrival = 0;

    for (int64_t r = 0; r < count; ++r) {
      Maker& rank = ranks[static_cast<size_t>(r)];
      if (is_collective)
        rank.launch(i);
      else if (i % 25 == 0)
        rank.copy_batch(i);
      else
        rank.kernel(i, (step % 2 == 0 ? 4'000 : 9'000) + ((step + i) % count == r ? 3'000 : 0));
      arrival = std::max({arrival, rank.host, rank.compute_end, rank.comm_end});
    }

    for (int32_t r = 0; is_collective && r < count; ++r) {
      Maker& rank = ranks[static_cast<size_t>(r)];
      int64_t const begin = std::max({rank.host, rank.compute_end, rank.comm_end});
      CollectiveDetail const detail{
          1U << 20, 1, rank.correlation, CollectiveOp::kAllReduce, static_cast<uint32_t>(count),
          r,        -1};
      rank.builder.events(rank.comm).add(EventKind::kCollective, begin, arrival + 20'000 - begin,
                                         rank.builder.intern("all-reduce"), rank.correlation,
                                         detail);
      rank.comm_end = arrival + 20'000;
    }
  }

  for (size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].compute_end = std::max(ranks[r].compute_end, ranks[r].comm_end);
    ranks[r].sync();
    ranks[r]
        .builder.events(ranks[r].thread)
        .add(EventKind::kStep, begins[r], ranks[r].host - begins[r],
             ranks[r].builder.intern("step"), 0, StepDetail{step});
  }
}

Run make_run(int64_t events, int32_t count) {
  std::vector<Maker> ranks(static_cast<size_t>(count));
  for (int64_t step = 0; step < events / count / (kOpsPerStep * kEventsPerOp); ++step)
    add_step(ranks, step);

  Run run;
  for (int32_t rank = 0; rank < count; ++rank) {
    TraceBuilder& builder = ranks[static_cast<size_t>(rank)].builder;
    builder.info().rank = rank;
    builder.info().world_size = count;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }

  return run;
}

void measure(benchmark::State& state, int32_t ranks) {
  Run const run = make_run(state.range(0), ranks);
  auto const devices = analyzer::index_devices(run);
  auto const steps = analyzer::find_host_steps(run);
  auto const collectives = analyzer::match_collectives(devices);

  std::vector<analyzer::DeviceStats> chosen;
  std::vector<analyzer::StepStats> of_devices;
  for (analyzer::DeviceOps const& device : devices) {
    analyzer::DeviceStats facts;
    facts.ref = device.ref;
    facts.window = analyzer::op_window(device);
    chosen.push_back(facts);
    auto const assigned = analyzer::assign_steps(device, steps, 1);
    of_devices.insert(of_devices.end(), assigned.steps.begin(), assigned.steps.end());
  }

  for (auto _ : state)
    benchmark::DoNotOptimize(
        analyzer::find_critical_path({devices, steps, collectives, chosen, of_devices}));

  state.counters["per_event"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void bm_one_rank(benchmark::State& state) { measure(state, 1); }
void bm_eight_ranks(benchmark::State& state) { measure(state, 8); }

BENCHMARK(bm_one_rank)
    ->Arg(220'000)
    ->Arg(2'200'000)
    ->Arg(22'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(bm_eight_ranks)
    ->Arg(220'000)
    ->Arg(2'200'000)
    ->Arg(22'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
