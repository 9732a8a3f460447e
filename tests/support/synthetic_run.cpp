#include "tests/support/synthetic_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::support {
namespace {

using namespace model;

constexpr int64_t kLaunchNs = 6'000;        // a launch call
constexpr int64_t kStartLatencyNs = 4'000;  // from launch to start on an idle stream
constexpr int64_t kSyncReturnNs = 5'000;  // from the end of the work to the return of the sync call
constexpr int64_t kInputNs = 50'000;      // a batch that was prefetched
constexpr int64_t kAllocateNs = 200'000;
constexpr int64_t kOptimizerNs = 400'000;
constexpr uint64_t kLayerBytes = 8U << 20;

enum StreamIndex : size_t {
  kComputeStream = 0,
  kCopyStream = 1,
  kCommStream = 2,
  kStreamCount = 3
};

/// One device with its launching thread: where both have got to, and where their events go.
class Worker {
 public:
  Worker(SyntheticOptions const& options, int32_t device, TraceBuilder& builder,
         int64_t clock_behind)
      : options_(options),
        device_(device),
        builder_(builder),
        now_(options.origin_ns),
        clock_behind_(clock_behind),
        random_(options.seed * 1'000'003ULL + static_cast<uint64_t>(device) + 1) {
    std::fill(std::begin(stream_end_), std::end(stream_end_), now_);
  }

  void add_tracks() {
    builder_.add_device({device_, fmt::format("host:{}", device_), options_.capacity_bytes,
                         options_.device_threads, 5e10});
    std::vector<Track> tracks = {
        {TrackKind::kThread, fmt::format("trainer {}", device_), 1000 + device_, -1,
         StreamKind::kCompute, 0},
        {TrackKind::kStream, fmt::format("device {} compute", device_), 0, device_,
         StreamKind::kCompute, 0},
        {TrackKind::kStream, fmt::format("device {} copy", device_), 1, device_, StreamKind::kCopy,
         0},
        {TrackKind::kStream, fmt::format("device {} communication", device_), 2, device_,
         StreamKind::kCommunication, 0}};

    std::vector<size_t> order = {0, 1, 2, 3};
    if (options_.reverse_tracks) std::reverse(order.begin(), order.end());
    for (size_t const i : order)
      (i == 0 ? thread_ : stream_[i - 1]) = builder_.add_track(tracks[i]);
  }

  int64_t now() const { return now_; }
  void host_range(EventKind kind, int64_t begin, std::string const& name) {
    host(kind, begin, now_, name);
  }
  void spend(EventKind kind, int64_t dur, std::string const& name) {
    int64_t const begin = now_;
    now_ += dur;
    host(kind, begin, now_, name);
  }
  void mark_step(int64_t begin, int64_t index) {
    if (options_.marks == StepMarks::kRangeName)
      host(EventKind::kRange, begin, now_, fmt::format("step {}", index));
    if (options_.marks == StepMarks::kColouredRange)
      batch(thread_).add(EventKind::kAnnotatedRange, at(begin), now_ - begin,
                         builder_.intern(fmt::format("step {}", index)), 0,
                         RangeDetail{.color = 0xFF76B900});
    if (options_.marks == StepMarks::kProfilerStep)
      host(EventKind::kRange, begin, now_, fmt::format("ProfilerStep#{}", index));

    if (options_.marks == StepMarks::kAnnotation)
      batch(thread_).add(EventKind::kStep, at(begin), now_ - begin, builder_.intern("step"), 0,
                         StepDetail{index});
  }

  void allocate(uint64_t bytes, MemoryPurpose purpose, int64_t dur) {
    allocated_ += bytes;
    reserved_ = std::max(reserved_, allocated_);
    next_address_ += bytes;
    live_.push_back({next_address_, bytes, purpose});
    memory({next_address_, bytes, allocated_, reserved_, device_, MemoryOp::kAllocate, purpose},
           "allocate", dur);
  }
  void free_newest(int64_t dur) {
    auto const [address, bytes, purpose] = live_.back();
    live_.pop_back();
    allocated_ -= bytes;
    memory({address, bytes, allocated_, reserved_, device_, MemoryOp::kFree, purpose}, "free", dur);
  }

  /// Launches a kernel, returns its end.
  int64_t kernel(std::string const& name, int64_t dur) {
    if (device_ == options_.straggler_device)
      dur = static_cast<int64_t>(static_cast<double>(dur) * options_.straggler_factor);
    dur += static_cast<int64_t>((uniform() * 2 - 1) * options_.jitter * static_cast<double>(dur));

    uint64_t const correlation = launch("launch " + name);
    int64_t const begin =
        std::max(now_ - kLaunchNs / 2 + kStartLatencyNs, stream_end_[kComputeStream]);

    KernelDetail detail;
    detail.flops = static_cast<double>(dur) * 40;
    detail.bytes = kLayerBytes;
    batch(stream_[kComputeStream])
        .add(EventKind::kKernel, at(begin), dur, builder_.intern(name), correlation, detail);

    stream_end_[kComputeStream] = begin + dur;
    if (options_.sync_every_op) sync(stream_end_[kComputeStream], SyncKind::kStream);
    return begin + dur;
  }
  void copy_in(int64_t dur) {
    uint64_t const correlation = launch("launch copy");
    int64_t const begin = std::max(now_ + kStartLatencyNs, stream_end_[kCopyStream]);
    CopyDetail const detail{static_cast<uint64_t>(dur) * 10, CopyDirection::kHostToDevice, device_,
                            1};
    batch(stream_[kCopyStream])
        .add(EventKind::kMemcpy, at(begin), dur, builder_.intern("copy batch to device"),
             correlation, detail);
    stream_end_[kCopyStream] = begin + dur;
  }
  /// `waiter` does nothing until what `source` has been given is over.
  void stream_wait(StreamIndex waiter, StreamIndex source) {
    int64_t const begin = std::max(stream_end_[waiter], now_);
    if (stream_end_[source] <= begin) return;
    StreamWaitDetail const detail{device_, static_cast<int32_t>(source)};
    batch(stream_[waiter])
        .add(EventKind::kStreamWait, at(begin), stream_end_[source] - begin,
             builder_.intern("wait for event"), 0, detail);
    stream_end_[waiter] = stream_end_[source];
  }

  /// The launch of a collective that may start when the compute stream has come this far.
  struct Pending {
    uint64_t correlation;
    int64_t ready;
  };
  Pending launch_collective() {
    uint64_t const correlation = launch("launch all_reduce");
    return {correlation, std::max(now_ + kStartLatencyNs, stream_end_[kComputeStream])};
  }
  /// When this device enters the collective.
  int64_t arrival(Pending const& pending) const {
    return std::max(pending.ready, stream_end_[kCommStream]);
  }
  void collective(Pending const& pending, int64_t end, uint64_t bytes, uint64_t sequence) {
    int64_t const begin = arrival(pending);
    CollectiveDetail const detail{
        bytes,
        77,
        sequence,
        options_.messages ? CollectiveOp::kSend : CollectiveOp::kAllReduce,
        static_cast<uint32_t>(options_.devices),
        device_,
        -1};

    batch(stream_[kCommStream])
        .add(EventKind::kCollective, at(begin), end - begin, builder_.intern("all_reduce"),
             pending.correlation, detail);
    stream_end_[kCommStream] = end;
  }

  void sync(int64_t until, SyncKind kind) {
    int64_t const begin = now_;
    now_ = std::max(now_ + 1'000, until + kSyncReturnNs);
    batch(thread_).add(EventKind::kSync, at(begin), now_ - begin, builder_.intern("synchronize"), 0,
                       SyncDetail{kind, device_, 0});
  }
  int64_t device_end() const {
    return *std::max_element(std::begin(stream_end_), std::end(stream_end_));
  }

 private:
  uint64_t launch(std::string const& name) {
    if (options_.host_delay_ns > 0)
      spend(EventKind::kRange, options_.host_delay_ns, "python overhead");
    // Devices of one process share the correlation space.
    uint64_t const correlation = (static_cast<uint64_t>(device_) << 40) + ++launches_;
    batch(thread_).add(EventKind::kLaunch, at(now_), kLaunchNs, builder_.intern(name), correlation);
    now_ += kLaunchNs;
    return correlation;
  }
  void memory(MemoryDetail const& detail, std::string const& name, int64_t dur) {
    batch(thread_).add(EventKind::kMemory, at(now_), dur, builder_.intern(name), 0, detail);
    now_ += dur;
  }
  void host(EventKind kind, int64_t begin, int64_t end, std::string const& name) {
    batch(thread_).add(kind, at(begin), end - begin, builder_.intern(name));
  }
  EventBatch& batch(TrackId track) { return builder_.events(track); }
  int64_t at(int64_t run_time) const { return run_time - clock_behind_; }
  double uniform() {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(random_ >> 11) / static_cast<double>(1ULL << 53);
  }

  struct Block {
    uint64_t address, bytes;
    MemoryPurpose purpose;
  };
  SyntheticOptions const& options_;
  int32_t device_;
  TraceBuilder& builder_;
  TrackId thread_;
  TrackId stream_[kStreamCount];
  int64_t stream_end_[kStreamCount] = {};
  int64_t now_;
  int64_t clock_behind_;
  uint64_t random_;
  uint64_t launches_ = 0;
  uint64_t allocated_ = 0, reserved_ = 0, next_address_ = 0x10000;
  std::vector<Block> live_;
};

int64_t transfer_ns(SyntheticOptions const& options, uint64_t bytes) {
  return static_cast<int64_t>(options.link_alpha_ns +
                              static_cast<double>(bytes) / options.link_bytes_per_ns);
}

void allocate_model(SyntheticOptions const& options, Worker& worker) {
  auto const layers = static_cast<uint64_t>(options.layers);
  for (MemoryPurpose const purpose :
       {MemoryPurpose::kWeights, MemoryPurpose::kGradients, MemoryPurpose::kOptimizer})
    worker.allocate(kLayerBytes * layers, purpose, 20'000);
  worker.allocate(16U << 20, MemoryPurpose::kWorkspace, 20'000);
  worker.allocate(4U << 20, MemoryPurpose::kInput, 20'000);
  if (!options.allocate_in_step)
    for (int32_t i = 0; i < options.layers; ++i)
      worker.allocate(kLayerBytes, MemoryPurpose::kActivations, 20'000);
}

/// Everything up to the end of the backward pass; returns the collectives in launch order.
std::vector<Worker::Pending> forward_and_backward(SyntheticOptions const& options, Worker& worker,
                                                  int64_t step) {
  worker.spend(EventKind::kInputWait, kInputNs + options.input_delay_ns, "wait for batch");
  if (step == options.slow_step)
    worker.spend(EventKind::kPhase, options.slow_step_ns, "checkpoint");
  worker.copy_in(options.copy_ns);
  worker.stream_wait(kComputeStream, kCopyStream);
  if (options.leak_bytes_per_step > 0)
    worker.allocate(options.leak_bytes_per_step, MemoryPurpose::kOther, 2'000);

  int64_t phase = worker.now();
  for (int32_t layer = 0; layer < options.layers; ++layer) {
    if (options.allocate_in_step)
      worker.allocate(kLayerBytes, MemoryPurpose::kActivations, kAllocateNs);
    worker.kernel(fmt::format("layer{} forward", layer), options.forward_ns);
  }
  worker.host_range(EventKind::kPhase, phase, "forward");

  phase = worker.now();
  std::vector<Worker::Pending> collectives;
  int32_t waiting = 0;
  for (int32_t layer = options.layers - 1; layer >= 0; --layer) {
    worker.kernel(fmt::format("layer{} backward", layer), options.backward_ns);
    if (options.overlap && options.devices > 1 &&
        (++waiting == options.layers_per_bucket || layer == 0)) {
      collectives.push_back(worker.launch_collective());
      waiting = 0;
    }
  }

  int32_t const buckets =
      (options.layers + options.layers_per_bucket - 1) / options.layers_per_bucket;
  if (!options.overlap && options.devices > 1)
    for (int32_t bucket = 0; bucket < buckets; ++bucket)
      collectives.push_back(worker.launch_collective());

  worker.host_range(EventKind::kPhase, phase, "backward");
  return collectives;
}

/// Lets every device enter its collectives; all leave each together, one transfer after the last
/// came.
void run_collectives(SyntheticOptions const& options, std::vector<Worker>& workers,
                     std::vector<std::vector<Worker::Pending>> const& pending, uint64_t& sequence) {
  for (size_t bucket = 0; bucket < pending[0].size(); ++bucket) {
    // Two sizes, so that alpha and beta can be separated.
    uint64_t const bytes = options.bucket_bytes >> (bucket % 2);

    int64_t last = workers[0].arrival(pending[0][bucket]);
    for (size_t d = 0; d < workers.size(); ++d)
      last = std::max(last, workers[d].arrival(pending[d][bucket]));

    for (size_t d = 0; d < workers.size(); ++d)
      workers[d].collective(pending[d][bucket], last + transfer_ns(options, bytes), bytes,
                            sequence);
    ++sequence;
  }
}

void optimizer(SyntheticOptions const& options, Worker& worker) {
  int64_t const phase = worker.now();
  worker.stream_wait(kComputeStream, kCommStream);
  worker.kernel("optimizer", kOptimizerNs);
  worker.host_range(EventKind::kPhase, phase, "optimizer");
  if (options.allocate_in_step)
    for (int32_t i = 0; i < options.layers; ++i) worker.free_newest(2'000);
  if (options.sync_each_step) worker.sync(worker.device_end(), SyncKind::kDevice);
}

}  // namespace

int64_t synthetic_ops_per_step(SyntheticOptions const& options) {
  int64_t const buckets = options.devices > 1 ? (options.layers + options.layers_per_bucket - 1) /
                                                    options.layers_per_bucket
                                              : 0;
  return 1 + 2 * options.layers + buckets + 1;
}

model::Run make_synthetic_run(SyntheticOptions const& options) {
  auto const processes = static_cast<size_t>(options.process_per_device ? options.devices : 1);
  std::vector<TraceBuilder> builders(processes);
  std::vector<Worker> workers;
  workers.reserve(static_cast<size_t>(options.devices));

  for (int32_t d = 0; d < options.devices; ++d) {
    auto const process = static_cast<size_t>(options.process_per_device ? d : 0);
    workers.emplace_back(options, d, builders[process],
                         static_cast<int64_t>(process) * options.rank_clock_offset_ns);
  }

  if (options.reverse_tracks) {
    for (size_t d = workers.size(); d-- > 0;) workers[d].add_tracks();
  } else {
    for (Worker& worker : workers) worker.add_tracks();
  }
  for (Worker& worker : workers) allocate_model(options, worker);

  uint64_t sequence = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    std::vector<int64_t> begins;
    std::vector<std::vector<Worker::Pending>> pending;
    for (Worker& worker : workers) {
      begins.push_back(worker.now());
      pending.push_back(forward_and_backward(options, worker, step));
    }

    run_collectives(options, workers, pending, sequence);
    for (size_t d = 0; d < workers.size(); ++d) {
      optimizer(options, workers[d]);
      workers[d].mark_step(begins[d], step);
    }
  }

  model::Run run;
  run.name = "synthetic";
  if (options.process_per_device && options.devices > 1)
    run.clock = {"collective ends", 1'000, 5'000};

  for (size_t process = 0; process < processes; ++process) {
    TraceInfo& info = builders[process].info();
    info.tool = "stepscope synthetic";
    info.host = "testhost";
    info.command = "train";
    info.process_id = 100 + static_cast<int64_t>(process);
    info.rank = static_cast<int32_t>(process);
    info.world_size = static_cast<int32_t>(processes);
    info.origin_epoch_ns = 1'700'000'000'000'000'000;
    if (options.cores > 0) info.facts.emplace_back("cores", fmt::format("{}", options.cores));
    run.ranks.push_back({std::move(builders[process]).finish(),
                         static_cast<int64_t>(process) * options.rank_clock_offset_ns,
                         fmt::format("rank{}.stepscope", process)});
  }
  return run;
}

}  // namespace stepscope::support
