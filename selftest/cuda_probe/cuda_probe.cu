// A plain CUDA program that does a known amount of work and prints it, as one JSON object per
// process on stdout: a trace of it must have just that. It links only the CUDA runtime, nothing of
// Stepscope.
//
//   stepscope-cuda-probe MODE [--launches N] [--threads T]
//
// MODE: work, graph, streams, long-name, reset, fork, exit, crash, window, empty or rate.
//
// `window` prints only work between cudaProfilerStart and …Stop. `empty` does N launches by T
// threads, `rate` N kernels in graphs on T streams. Exit status 1 and a line on stderr if CUDA
// fails; 77 without a device.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kNoDevice = 77;

void check(cudaError_t result, char const* call, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "stepscope-cuda-probe: line %d: %s: %s\n", line, call,
               cudaGetErrorName(result));
  std::exit(result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver ? kNoDevice : 1);
}
#define CHECK(call) check((call), #call, __LINE__)

/// What was asked of CUDA. The functions below count what they do; nothing else in this program
/// does device work.
struct Counts {
  uint64_t kernels = 0, launches = 0;
  uint64_t streams = 0;  ///< with kernels
  uint64_t to_device = 0, to_device_bytes = 0, to_host = 0, to_host_bytes = 0, on_device = 0,
           on_device_bytes = 0;
  uint64_t pinned = 0;  ///< copies whose host side is page-locked
  uint64_t memsets = 0, memset_bytes = 0;
  uint64_t allocations = 0, allocated_bytes = 0, frees = 0;  ///< device memory
  bool knows_streams = true;  ///< the driver may run a graph's nodes on streams of its own
  bool knows_memory = true;   ///< a recorder may need the allocations before its window, too
  uint64_t stream_waits = 0;
  uint64_t name_bytes = 0;   ///< the longest kernel name is at least this long
  double ns_per_launch = 0;  ///< host time
  double kernels_per_second = 0;
};

/// What this program cannot know is left out.
void print(char const* mode, Counts const& c) {
  auto const say = [](char const* key, uint64_t value) {
    std::printf("\"%s\":%llu,", key, static_cast<unsigned long long>(value));
  };
  std::printf("{\"mode\":\"%s\",\"pid\":%d,", mode, static_cast<int>(::getpid()));

  say("kernels", c.kernels);
  say("launches", c.launches);
  if (c.knows_streams) say("streams", c.streams);

  say("to_device", c.to_device);
  say("to_device_bytes", c.to_device_bytes);
  say("to_host", c.to_host);
  say("to_host_bytes", c.to_host_bytes);
  say("on_device", c.on_device);
  say("on_device_bytes", c.on_device_bytes);
  say("pinned", c.pinned);
  say("memsets", c.memsets);
  say("memset_bytes", c.memset_bytes);

  if (c.knows_memory) {
    say("allocations", c.allocations);
    say("allocated_bytes", c.allocated_bytes);
    say("frees", c.frees);
  }

  say("stream_waits", c.stream_waits);
  say("name_bytes", c.name_bytes);

  std::printf("\"ns_per_launch\":%.1f,\"kernels_per_second\":%.0f}\n", c.ns_per_launch,
              c.kernels_per_second);
  std::fflush(stdout);
}

__global__ void add_one(float* data, int count) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] += 1.0F;
}
__global__ void empty_kernel() {}
/// Its name, mangled or not, is longer than 10,000 bytes.
template <int... Numbers>
__global__ void long_name(int* sum) {
  *sum = (Numbers + ... + 0);
}

/// One process's work. Counts beside each call.
class Probe {
 public:
  explicit Probe(Counts& counts) : counts_(counts) {}

  float* allocate(size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    count_allocation(bytes);
    return static_cast<float*>(memory);
  }
  void release(float* memory) {
    CHECK(cudaFree(memory));
    ++counts_.frees;
  }
  float* allocate_on(cudaStream_t stream, size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMallocAsync(&memory, bytes, stream));
    count_allocation(bytes);
    return static_cast<float*>(memory);
  }
  void release_on(cudaStream_t stream, float* memory) {
    CHECK(cudaFreeAsync(memory, stream));
    ++counts_.frees;
  }
  /// Index among the streams that get kernels.
  cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ++counts_.streams;
    return stream;
  }
  void kernel(cudaStream_t stream, float* data, int count) {
    constexpr int kThreads = 128;
    add_one<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(data, count);
    CHECK(cudaGetLastError());
    ++counts_.kernels;
    ++counts_.launches;
  }
  void copy(cudaStream_t stream, void* to, void const* from, size_t bytes, cudaMemcpyKind kind,
            bool is_pinned) {
    CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
    count_copy(kind, bytes, is_pinned);
    ++counts_.launches;
  }
  void copy_and_wait(void* to, void const* from, size_t bytes, cudaMemcpyKind kind) {
    CHECK(cudaMemcpy(to, from, bytes, kind));
    count_copy(kind, bytes, false);
    ++counts_.launches;
  }
  void fill(cudaStream_t stream, void* data, size_t bytes) {
    CHECK(cudaMemsetAsync(data, 0, bytes, stream));
    ++counts_.memsets;
    counts_.memset_bytes += bytes;
    ++counts_.launches;
  }
  void hold(cudaStream_t held, cudaStream_t until) {
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, until));
    CHECK(cudaStreamWaitEvent(held, event, 0));
    CHECK(cudaEventDestroy(event));
    ++counts_.stream_waits;
  }

 private:
  void count_allocation(size_t bytes) {
    ++counts_.allocations;
    counts_.allocated_bytes += bytes;
  }
  void count_copy(cudaMemcpyKind kind, size_t bytes, bool is_pinned) {
    counts_.pinned += is_pinned ? 1 : 0;

    switch (kind) {
      case cudaMemcpyHostToDevice:
        ++counts_.to_device;
        counts_.to_device_bytes += bytes;
        break;
      case cudaMemcpyDeviceToHost:
        ++counts_.to_host;
        counts_.to_host_bytes += bytes;
        break;
      default:
        ++counts_.on_device;
        counts_.on_device_bytes += bytes;
    }
  }

  Counts& counts_;
};

constexpr int kFloats = 1 << 18;
constexpr size_t kBytes = kFloats * sizeof(float);

/// Kernels on four streams that wait for each other, copies of every kind, fills, memory from
/// cudaMalloc and from a pool.
void do_work(Counts& counts, int kernels) {
  constexpr int kStreams = 4, kCopies = 5;
  Probe probe(counts);

  float* const a = probe.allocate(kBytes);
  float* const b = probe.allocate(kBytes);
  std::vector<float> pageable(kFloats, 1.0F);
  void* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, kBytes));

  std::vector<cudaStream_t> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(probe.make_stream());

  probe.fill(streams[0], a, kBytes);
  for (int i = 0; i < kCopies; ++i) {
    probe.copy_and_wait(b, pageable.data(), kBytes - 4 * i, cudaMemcpyHostToDevice);
    probe.copy(streams[1], b, pinned, kBytes / 2, cudaMemcpyHostToDevice, true);
    probe.copy(streams[1], a, b, kBytes / 4, cudaMemcpyDeviceToDevice, false);
    probe.copy(streams[1], pinned, a, kBytes / 8, cudaMemcpyDeviceToHost, true);
    probe.copy_and_wait(pageable.data(), a, kBytes / 16, cudaMemcpyDeviceToHost);
  }

  for (int i = 0; i < kernels; ++i) {
    cudaStream_t const stream = streams[static_cast<size_t>(i % kStreams)];
    if (i % 100 == 50) probe.hold(stream, streams[static_cast<size_t>((i + 1) % kStreams)]);
    if (i % 10 == 0) {
      float* const block = probe.allocate_on(stream, kBytes);
      probe.kernel(stream, block, kFloats);
      probe.release_on(stream, block);
    } else {
      probe.kernel(stream, a, kFloats);
    }
  }

  CHECK(cudaDeviceSynchronize());
  for (cudaStream_t const stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(pinned));
  probe.release(a);
  probe.release(b);
}

/// Appends a kernel to a row of nodes; `last` is null for the first.
void append_kernel(cudaGraph_t graph, cudaGraphNode_t& last, void* function, int blocks,
                   int threads, void** arguments) {
  cudaKernelNodeParams kernel = {};
  kernel.func = function;
  kernel.gridDim = dim3(static_cast<unsigned>(blocks));
  kernel.blockDim = dim3(static_cast<unsigned>(threads));
  kernel.kernelParams = arguments;
  cudaGraphNode_t const before = last;
  CHECK(cudaGraphAddKernelNode(&last, graph, &before, before != nullptr ? 1 : 0, &kernel));
}

/// A fill, 48 kernels and a copy in a row. Made node by node: launches that a stream capture
/// swallows are no device work, and none of this program's calls should be.
cudaGraph_t make_graph(float* a, float* b, int kernels) {
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));

  cudaGraphNode_t last = nullptr;
  cudaMemsetParams fill = {};
  fill.dst = a;
  fill.elementSize = 1;
  fill.width = kBytes;
  fill.height = 1;

  CHECK(cudaGraphAddMemsetNode(&last, graph, nullptr, 0, &fill));
  int count = kFloats;

  void* arguments[] = {&a, &count};
  for (int i = 0; i < kernels; ++i)
    append_kernel(graph, last, reinterpret_cast<void*>(add_one), kFloats / 128, 128, arguments);

  cudaGraphNode_t const before = last;
  CHECK(cudaGraphAddMemcpyNode1D(&last, graph, &before, 1, b, a, kBytes, cudaMemcpyDeviceToDevice));

  return graph;
}

void launch_graph(Counts& counts) {
  constexpr int kKernels = 48, kLaunches = 200;

  Probe probe(counts);
  float* const a = probe.allocate(kBytes);
  float* const b = probe.allocate(kBytes);
  cudaStream_t const stream = probe.make_stream();
  cudaGraph_t const graph = make_graph(a, b, kKernels);
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));

  for (int i = 0; i < kLaunches; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));

  counts.launches += kLaunches;
  counts.kernels += kKernels * kLaunches;
  counts.memsets += kLaunches;
  counts.memset_bytes += kBytes * kLaunches;
  counts.on_device += kLaunches;
  counts.on_device_bytes += kBytes * kLaunches;
  counts.knows_streams = false;

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  probe.release(a);
  probe.release(b);
}

void use_many_streams(Counts& counts) {
  constexpr int kStreams = 1000;
  Probe probe(counts);
  float* const data = probe.allocate(kBytes);
  std::vector<cudaStream_t> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(probe.make_stream());
  for (int round = 0; round < 2; ++round)
    for (cudaStream_t const stream : streams) probe.kernel(stream, data, 1024);
  CHECK(cudaDeviceSynchronize());
  probe.release(data);
}

template <int... Numbers>
void launch_long_name(int* sum, std::integer_sequence<int, Numbers...> /*numbers*/) {
  long_name<Numbers...><<<1, 1>>>(sum);
  CHECK(cudaGetLastError());
}

void use_long_name(Counts& counts) {
  Probe probe(counts);
  float* const sum = probe.allocate(kBytes);
  launch_long_name(reinterpret_cast<int*>(sum), std::make_integer_sequence<int, 2200>());
  CHECK(cudaDeviceSynchronize());
  ++counts.kernels;
  ++counts.launches;
  ++counts.streams;  // the default one
  counts.name_bytes = 10'000;
  probe.release(sum);
}

/// Launches that do nothing: the host's time for each is what a tool adds to.
void launch_empty(Counts& counts, int64_t launches, int threads) {
  std::vector<cudaStream_t> streams;
  Probe probe(counts);

  for (int i = 0; i < threads; ++i) streams.push_back(probe.make_stream());
  for (cudaStream_t const stream : streams) {
    empty_kernel<<<1, 1, 0, stream>>>();  // loads the module outside of the timed section
    CHECK(cudaStreamSynchronize(stream));
  }

  int64_t const each = launches / threads;

  auto const begin = std::chrono::steady_clock::now();
  std::vector<std::thread> launchers;
  for (cudaStream_t const stream : streams)
    launchers.emplace_back([stream, each] {
      for (int64_t i = 0; i < each; ++i) empty_kernel<<<1, 1, 0, stream>>>();
      CHECK(cudaGetLastError());
    });

  for (std::thread& launcher : launchers) launcher.join();
  CHECK(cudaDeviceSynchronize());

  double const ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();

  counts.kernels += static_cast<uint64_t>((each + 1) * threads);
  counts.launches = counts.kernels;
  counts.ns_per_launch = ns / static_cast<double>(each);
  counts.kernels_per_second = static_cast<double>(each * threads) / (ns * 1e-9);
}

/// Empty kernels in graphs that are replayed on several streams at once. This launches more per
/// second than threads can launch singly, since threads serialize in the driver.
void replay_empty(Counts& counts, int64_t kernels, int stream_count) {
  constexpr int64_t kNodes = 1000;
  Probe probe(counts);

  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t last = nullptr;
  for (int64_t i = 0; i < kNodes; ++i)
    append_kernel(graph, last, reinterpret_cast<void*>(empty_kernel), 1, 1, nullptr);

  std::vector<std::pair<cudaGraphExec_t, cudaStream_t>>
      replays;  // one instance runs once at a time

  for (int i = 0; i < stream_count; ++i) {
    replays.emplace_back(nullptr, probe.make_stream());
    auto const& [instance, stream] = replays.back();
    CHECK(cudaGraphInstantiate(&replays.back().first, graph, 0));
    CHECK(cudaGraphLaunch(instance, stream));  // puts it on the device outside of the timed section
    CHECK(cudaStreamSynchronize(stream));
  }

  int64_t const rounds = kernels / (kNodes * stream_count);
  auto const begin = std::chrono::steady_clock::now();
  for (int64_t round = 0; round < rounds; ++round)
    for (auto const& [instance, stream] : replays) CHECK(cudaGraphLaunch(instance, stream));

  CHECK(cudaDeviceSynchronize());
  double const ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();

  counts.launches += static_cast<uint64_t>((rounds + 1) * stream_count);
  counts.kernels += static_cast<uint64_t>((rounds + 1) * stream_count * kNodes);
  counts.knows_streams = false;
  counts.kernels_per_second = static_cast<double>(rounds * stream_count * kNodes) / (ns * 1e-9);

  for (auto const& [instance, stream] : replays) CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(graph));
}

constexpr int kKernels = 1000;

void work_in_window(Counts& counts) {
  Counts outside;
  do_work(outside, kKernels / 10);
  CHECK(cudaProfilerStart());
  do_work(counts, kKernels);
  CHECK(cudaProfilerStop());
  do_work(outside, kKernels / 10);
  counts.knows_memory = false;
}

int run_and_fork() {
  pid_t const child = ::fork();  // before CUDA is initialized, as it must be
  Counts counts;
  do_work(counts, kKernels);
  print("fork", counts);
  if (child == 0) return 0;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run_and_crash() {
  Counts counts;
  do_work(counts, kKernels);
  print("crash", counts);
  // What a recorder promises to have saved: everything up to a second ago.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  rlimit const no_core = {0, 0};  // it would hold the GPU's memory, too
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::raise(SIGSEGV);
  return 1;
}

int run(std::string const& mode, int64_t launches, int threads) {
  if (mode == "fork") return run_and_fork();
  if (mode == "crash") return run_and_crash();

  Counts counts;
  if (mode == "work" || mode == "exit") {
    do_work(counts, kKernels);
  } else if (mode == "graph") {
    launch_graph(counts);
  } else if (mode == "streams") {
    use_many_streams(counts);
  } else if (mode == "long-name") {
    use_long_name(counts);
  } else if (mode == "reset") {
    do_work(counts, kKernels);
    CHECK(cudaDeviceReset());
    do_work(counts, kKernels);
  } else if (mode == "window") {
    work_in_window(counts);
  } else if (mode == "empty") {
    launch_empty(counts, launches, threads);
  } else if (mode == "rate") {
    replay_empty(counts, launches, threads);
  } else {
    std::fprintf(stderr, "stepscope-cuda-probe: %s: no such mode\n", mode.c_str());
    return 2;
  }

  print(mode.c_str(), counts);
  if (mode == "exit") ::_exit(0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = "work";
  int64_t launches = 100'000;
  int threads = 1;

  for (int i = 1; i < argc; ++i) {
    bool const has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--launches") == 0 && has_value)
      launches = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--threads") == 0 && has_value)
      threads = std::atoi(argv[++i]);
    else
      mode = argv[i];
  }

  return run(mode, launches, threads < 1 ? 1 : threads);
}
