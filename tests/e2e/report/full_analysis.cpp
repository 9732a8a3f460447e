#include "tests/e2e/report/full_analysis.h"

namespace stepscope::support {
namespace {

using analyzer::DeviceRef;
using analyzer::IdleCause;

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kGib = 1ULL << 30U;

void add_health(analyzer::DeviceStats& device) {
  analyzer::TelemetryStats telemetry;
  telemetry.sm_clock_mhz = telemetry.memory_clock_mhz = {1200, 1500, 1980};
  telemetry.power_w = {100, 397, 410};
  telemetry.temperature_c = {55, 80, 88};
  telemetry.utilization_percent = {90, 99, 100};

  telemetry.busy_clock_mhz = 1523;
  telemetry.sustained_clock_mhz = 1980;
  telemetry.clock_to_peers = 0.77;

  telemetry.throttled_ns = device.time.busy_ns / 2;
  telemetry.limited_ns = {{kMs, 0, 0, 2 * kMs, 0, 0}};
  telemetry.kernel_slowdown = 1.3;
  telemetry.slow_steps = {{device.window, 3 * kMs}};
  device.telemetry = telemetry;
}

void add_memory(analyzer::MemoryStats& memory, std::string const& name) {
  memory.capacity_bytes = 80 * kGib;
  memory.peak_allocated_bytes = 40 * kGib;
  memory.peak_reserved_bytes = 50 * kGib;
  memory.fragmentation = 0.25;
  memory.worst_fragmentation = 0.5;
  memory.stranded_bytes = memory.fragmented_growth_bytes = kGib;

  memory.floor_growth_bytes_per_step = memory.reserved_growth_bytes_per_step = 6.4e7;
  memory.floor_forecast = {6.4e7, 1e6, 1196, 1100, 1300, 18'000 * kMs};
  memory.retries = 3;
  memory.batch_factor = 1.5;
  memory.pinning_calls_per_step = 2.5;

  analyzer::MemoryOwners owners;
  for (uint64_t i = 0; i < 9; ++i)
    owners.owners.push_back({name + " owner " + std::to_string(i), 4 * kGib});
  owners.other_bytes = 3 * kGib;
  owners.before_recording_bytes = kGib;
  memory.peak_owners = owners;
}

void add_launches(analyzer::LaunchStats& launch) {
  launch.calls = 1000;
  launch.calls_per_step = 100;
  launch.latency_median_ns = 2'240;
  launch.latency_p95_ns = 73'900;
  launch.latency_max_ns = kMs;
  launch.negative_latencies = 1;
  launch.call_median_ns = 3'800;
  launch.kernel_median_ns = 2'500;

  launch.queue = {0.25, 8, 0.88};
  launch.streams = {{7, 1000, {0.25, 8, 0.88}}};

  launch.graph_ops = 640;
  launch.graph_launches = 10;
  launch.graph_share = 0.4;
}

void add_work(analyzer::Analysis& analysis, DeviceRef ref, std::string const& name) {
  using Op = analyzer::OpStats;
  for (auto const level : {Op::Level::kOp, Op::Level::kLayer}) {
    analysis.ops.push_back({ref, level, Op::What::kRange,
                            name + (level == Op::Level::kOp ? " op" : " layer"), 64, 30 * kMs,
                            0.75});
    analysis.ops.push_back({ref, level, Op::What::kOutside, {}, 6, 10 * kMs, 0.25});
  }
  analysis.graphs.push_back({ref, 3, 10, 640, 64, 20 * kMs, 2 * kMs});

  analyzer::CopyStats copies;
  copies.ref = ref;
  copies.direction = model::CopyDirection::kHostToDevice;
  copies.count = 10;
  copies.bytes = kGib;
  copies.total_ns = 43 * kMs;
  copies.gbps = 25;
  copies.pageable_count = 4;
  copies.pageable_bytes = kGib / 2;
  analysis.copies.push_back(copies);

  analysis.phases.push_back({ref, name + " phase", 1, 10, 100 * kMs, 640, 80 * kMs, 60 * kMs,
                             10 * kMs, 8 * kMs, 9 * kMs});
  analysis.host_ops.push_back({ref, IdleCause::kLaunchBound, name + " host op", 1, 100, 50 * kMs});
  analysis.waits.push_back({ref, analyzer::WaitCause::kIdle, IdleCause::kLaunchBound,
                            name + " late op", 90 * kMs, 70 * kMs, 12});
}

void add_path(analyzer::CriticalPathStats& path, std::string const& name) {
  using Class = analyzer::PathClass;
  path.window = {0, 100 * kMs};
  path.by_class = {};
  path.by_class[static_cast<size_t>(Class::kCompute)] = 40 * kMs;
  path.by_class[static_cast<size_t>(Class::kHost)] = 60 * kMs;

  path.places = {{0, std::nullopt, {}}, {0, 1, {}}};
  path.places[0].by_class[static_cast<size_t>(Class::kHost)] = 60 * kMs;
  path.places[1].by_class[static_cast<size_t>(Class::kCompute)] = 40 * kMs;

  path.contributors.clear();
  for (int i = 0; i < 12; ++i)
    path.contributors.push_back(
        {Class::kHost, name + " contributor " + std::to_string(i), 5 * kMs, 7, 0.05});

  path.steps = {{0, 0, path.by_class}, {1, 0, path.by_class}};
  path.slack_by_class = {{Class::kCompute, std::nullopt, 100, 50 * kMs, kMs, 1'000, kMs}};
  path.slack_by_name = {{Class::kCompute, name + " beside", 100, 50 * kMs, kMs, 1'000, kMs}};
}

}  // namespace

void add_all_facts(analyzer::Analysis& analysis, std::string const& name) {
  analyzer::DeviceRef const first = analysis.devices.at(0).ref, second = analysis.devices.at(1).ref;
  for (size_t i = 0; i < 2; ++i) {
    analyzer::DeviceStats& device = analysis.devices[i];
    add_health(device);
    add_memory(device.memory, name);
    add_launches(device.launch);
    device.time.unhidden_by_cause[static_cast<size_t>(IdleCause::kLaunchBound)] =
        device.time.exposed_comm_ns / 2;
    device.time.unhidden_comm_ns = device.time.exposed_comm_ns / 2;
    device.slow.simt_matrix_ns = 5 * kMs;
    add_work(analysis, device.ref, name);
  }

  analyzer::PipelineStats pipeline;
  pipeline.stages = {{first, 540 * kMs, 157 * kMs, 360 * kMs, 10},
                     {second, 540 * kMs, 141 * kMs, 380 * kMs, 10}};
  pipeline.schedule = analyzer::PipelineSchedule::kOneForwardOneBackward;
  pipeline.micro_batches = 8;
  pipeline.bubble_share = 0.276;
  pipeline.ideal_share = 0.111;
  pipeline.imbalance = 1.027;
  analysis.pipelines = {pipeline};

  analyzer::SlowdownStats slowdown;
  slowdown.s = 1.179;
  slowdown.m_stage = slowdown.m_slowest_stage = 0.8;
  slowdown.m_worker = 0.6;
  slowdown.stages = {{0, 0.998, 0.9}, {1, 1.232, 1.1}};
  slowdown.data_ranks = {{0, 1.173}};
  slowdown.workers = {{first, 0, 0, 0, 0.998, false}, {first, 1, 0, 0, 1.173, true}};
  slowdown.operations = {{name + " pass", 1.09}};
  slowdown.steps = 4;
  slowdown.recorded_step_ns = slowdown.step_ns = 118e6;
  slowdown.ideal_step_ns = 100e6;
  analysis.slowdown = slowdown;

  analyzer::KernelStats kernel;
  kernel.ref = first;
  kernel.name = name + " kernel";
  kernel.count = 10;
  kernel.total_ns = kernel.max_ns = 50 * kMs;
  kernel.tensor_cores = true;
  kernel.occupancy_percent = 37.5;
  kernel.small_grid_share = 0.5;
  kernel.flops_rate = 2.76e14;
  kernel.peak_share = 0.279;
  kernel.bytes_rate = 1e12;
  kernel.flops_per_byte = 276;
  analysis.kernels.push_back(kernel);

  if (!analysis.critical_path) analysis.critical_path.emplace();
  add_path(*analysis.critical_path, name);
}

}  // namespace stepscope::support
