// The program that the injection tests run with the tracer inside: does one small known thing,
// chosen by its first argument.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef STEPSCOPE_HAS_CUDA_HEADERS
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#endif

#include "tests/unit/tracer/interleave/shared_barrier.h"
#include "tests/unit/tracer/left_over.h"
#include "tests/unit/tracer/saved_events.h"
#include "tracer/api/annotate.h"
#include "tracer/api/capture.h"
#include "tracer/api/device_events.h"

namespace {

using namespace stepscope::api;

/// As the driver does in cuInit() of a program that uses CUDA.
void start_cuda() {
  char const* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  auto const initialize =
      library == nullptr ? nullptr
                         : reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  std::printf("InitializeInjection: %d\n", initialize == nullptr ? -1 : initialize());
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void describe_devices() {
  device_mark(DeviceSchema::kDevice, "host device", DevicePayload{0, 2, 1 << 30, 5e10});
  device_mark(DeviceSchema::kStream, "compute", StreamPayload{0, 0, StreamKind::kCompute});
  device_mark(DeviceSchema::kStream, "communication",
              StreamPayload{0, 2, StreamKind::kCommunication});
}

void allocate(uint64_t bytes) {
  MemoryPayload result{};
  DeviceResultRange const range(DeviceSchema::kMemory, "allocate", result);
  result = {0x1000, bytes, bytes, 2 * bytes, 0, MemoryOp::kAllocate, MemoryPurpose::kOther};
}

/// A launch on this thread and its ops on another one, as a device's stream would run them.
void launch_step(uint64_t base) {
  { DeviceRange const launch(DeviceSchema::kLaunch, "conv1", LaunchPayload{base + 1, 0, 0}); }
  { DeviceRange const launch(DeviceSchema::kLaunch, "upload", LaunchPayload{base + 2, 0, 0}); }
  { DeviceRange const launch(DeviceSchema::kLaunch, "all_reduce", LaunchPayload{base + 3, 0, 2}); }

  std::thread stream([&] {
    {
      DeviceRange const op(DeviceSchema::kKernel, "conv1",
                           KernelPayload{base + 1, 0, 0, 4096, 1.5e6});
    }
    {
      DeviceRange const op(DeviceSchema::kCopy, "upload",
                           CopyPayload{base + 2, 0, 0, 512, CopyDirection::kHostToDevice, 0, 1});
    }
    {
      DeviceRange const op(
          DeviceSchema::kCollective, "all_reduce",
          CollectivePayload{base + 3, 0, 2, 1 << 20, 77, base, CollectiveOp::kAllReduce, 2, 1, -1});
    }
    { DeviceRange const op(DeviceSchema::kStreamWait, "wait", StreamWaitPayload{0, 0, 0, 0, 2}); }
  });

  stream.join();
  DeviceRange const sync(DeviceSchema::kSync, "synchronize", SyncPayload{0, 0, SyncKind::kStream});
}

void train(int steps) {
  describe_devices();
  {
    MemoryCategory const category("weights");
    allocate(1 << 16);
  }

  for (int i = 0; i < steps; ++i) {
    Step const step(i);
    { InputWait const wait; }
    Phase const phase("forward");
    launch_step(static_cast<uint64_t>(i) * 10);
  }
}

/// Writes a letter in each step: the letters of programs that share their stdout show the order of
/// their steps.
void train_aloud(char const* letter, int steps) {
  for (int i = 0; i < steps; ++i) {
    Step const step(i);
    if (::write(STDOUT_FILENO, letter, 1) != 1) std::_Exit(3);
  }
  std::_Exit(0);  // nothing else is written
}

/// One of several processes whose steps need each other, each in a session of its own as the ranks
/// of mpirun are in groups of their own.
void train_together(char const* file, int processes, char const* letter, int steps) {
  ::setsid();
  stepscope::tracer::SharedBarrier barrier(file, processes);
  for (int i = 0; i < steps; ++i) {
    Step const step(i);
    barrier.meet();
    if (::write(STDOUT_FILENO, letter, 1) != 1) std::_Exit(3);
    barrier.meet();
  }
  std::_Exit(0);
}

/// Every call of the core API once, in the default domain and in one of its own.
void use_nvtx() {
  nvtxNameOsThreadA(static_cast<uint32_t>(::gettid()), "trainer");
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("library");
  std::array<int, 4> const levels = {nvtxRangePushA("outer"), nvtxRangePushW(L"wide \u00e4\u4e2d"),
                                     nvtxRangePop(), nvtxRangePop()};
  if (levels != std::array<int, 4>{0, 1, 1, 0} || nvtxRangePop() != -1) std::_Exit(3);

  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  if (nvtxDomainRangePushEx(domain, &attributes) != 0 || nvtxDomainRangePop(domain) != 0)
    std::_Exit(3);

  nvtxRangeId_t const range = nvtxRangeStartA("across threads");
  std::thread([&] { nvtxRangeEnd(range); }).join();
  nvtxDomainMarkEx(domain, &attributes);
  nvtxMarkA("mark");
  nvtxMarkA("");

  std::string const long_name(10'000, 'x');
  nvtxRangePushA(long_name.c_str());
  nvtxRangePop();
  nvtxRangePushA("left open");
}

void make_notes() {
  stepscope::api::note("loss", 0.7);
  stepscope::api::note("loss", 0.7);
  stepscope::api::note("tokens", (int64_t{1} << 53) + 1);
  stepscope::api::note("tokens", -3);
  stepscope::api::note("loss", std::numeric_limits<double>::quiet_NaN());
}

void push_coloured_range() {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "coloured";
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xFF76B900;
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
}

void mark_loss() {
  nvtxNameCategoryA(3, "loading");

  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "loss";
  attributes.category = 3;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  attributes.payload.dValue = 0.25;
  nvtxMarkEx(&attributes);
}

/// A range of NCCL with the payload that NCCL gives it.
void push_all_gather() {
  struct Message {
    uint64_t communicator;
    size_t bytes;
  } const message = {77, 1 << 20};
  nvtxDomainHandle_t const nccl = nvtxDomainCreateA("NCCL");
  nvtxDomainNameCategoryW(nccl, 4, L"init");

  std::array<nvtxPayloadSchemaEntry_t, 2> entries{};
  entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
  entries[0].name = "NCCL communicator ID";
  entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
  entries[1].name = "Message size [bytes]";
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  schema.payloadStaticSize = sizeof message;
  schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
  nvtxPayloadSchemaRegister(nccl, &schema);

  nvtxPayloadData_t const data = {schema.schemaId, sizeof message, &message};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(nccl, "ncclAllGather");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.payload.ullValue = reinterpret_cast<uintptr_t>(&data);
  attributes.reserved0 = 1;
  nvtxDomainRangePushEx(nccl, &attributes);
  nvtxDomainRangePop(nccl);
}

/// Ranges and marks with colours, categories and payloads, as programs and NCCL make them.
void annotate_ranges() {
  push_coloured_range();
  mark_loss();
  push_all_gather();
}

/// Every way of naming a device and a stream, with a driver or without; the last name counts.
void name_cuda_resources() {
#ifdef STEPSCOPE_HAS_CUDA_HEADERS
  describe_devices();

  nvtxNameCuDeviceA(0, "first");
  nvtxNameCuDeviceW(0, L"second");
  nvtxNameCudaDeviceW(0, L"third");
  nvtxNameCudaDeviceA(0, "left half");
  nvtxNameCudaDeviceA(7, "not there");

  nvtxNameCuStreamA(nullptr, "default");
  nvtxNameCuStreamW(nullptr, L"default");
  nvtxNameCudaStreamA(nullptr, "default");
  nvtxNameCudaStreamW(nullptr, L"default");

  train(1);
#endif
}

/// The payload extension with odd arguments: unknown sizes, null pointers, far too many payloads.
void use_odd_payloads() {
  nvtxDomainHandle_t const domain = device_domain();
  KernelPayload const kernel{5, 0, 0, 64, 2};
  auto const id = static_cast<uint64_t>(DeviceSchema::kKernel);

  nvtxPayloadData_t const find_out = {id, SIZE_MAX, &kernel};
  if (nvtxRangePushPayload(domain, &find_out, 1) != 0 ||
      nvtxRangePopPayload(domain, nullptr, 3) != 0)
    std::_Exit(3);

  nvtxPayloadData_t const null_pointer = {id, sizeof kernel, nullptr};
  nvtxRangePushPayload(domain, &null_pointer, 1);
  nvtxRangePopPayload(domain, nullptr, 0);

  std::vector<nvtxPayloadData_t> const many(10'000, {id, 0, nullptr});
  nvtxRangeId_t const range = nvtxRangeStartPayload(domain, many.data(), many.size());
  nvtxRangeEndPayload(domain, range, many.data(), many.size());

  nvtxMarkPayload(nvtxDomainCreateA("odd"), &find_out, 1);
  nvtxPayloadSchemaRegister(domain, nullptr);
  nvtxDomainMarkEx(domain, nullptr);
  nvtxRangeEnd(0);
  nvtxRangeEnd(~uint64_t{0});
}

/// For that long, or until it is killed: one range a millisecond, named by the time since the epoch
/// in ms, and others around it.
void run_for(std::chrono::milliseconds duration) {
  using Clock = std::chrono::system_clock;
  auto const end = Clock::now() + duration;

  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    auto const ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    nvtxRangePushA("around");
    nvtxRangePushA(std::to_string(ms).c_str());
    sleep_ms(1);
    nvtxRangePop();
    nvtxRangePop();
  }
}

/// `count` threads, a few at a time, each with one range of its own.
void run_tasks(int count) {
  constexpr int kAtOnce = 10;
  for (int done = 0; done < count; done += kAtOnce) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kAtOnce; ++i) {
      threads.emplace_back([] {
        nvtxRangePushA("task");
        nvtxRangePop();
      });
    }

    for (std::thread& thread : threads) thread.join();
  }
}

void fork_once() {
  nvtxRangePushA("parent before");
  nvtxRangePop();

  pid_t const child = ::fork();
  if (child == 0) {
    nvtxRangePushA("child");
    nvtxRangePop();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  nvtxRangePushA("parent after");
  nvtxRangePop();
  if (status != 0) std::_Exit(4);
}

void flood(int threads, int ranges) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      for (int i = 0; i < ranges; ++i) {
        nvtxRangePushA("flood");
        nvtxRangePop();
      }
    });
  }

  for (std::thread& thread : all) thread.join();
}

/// Forks again and again while other threads record.
void fork_under_load() {
  ::alarm(60);         // a deadlock ends as a failure, not as a hang
  nvtxMarkA("begin");  // NVTX itself cannot be forked while another thread initialises it: the
                       // child would wait for that thread

  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t) {
    busy.emplace_back([&] {
      while (!stop) {
        std::thread([] {
          nvtxRangePushA("busy");
          nvtxRangePop();
        }).join();
      }
    });
  }

  int failed = 0;
  for (int i = 0; i < 30; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      nvtxMarkA("child");
      std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    failed += static_cast<int>(status != 0);
  }

  stop = true;
  for (std::thread& thread : busy) thread.join();
  if (failed != 0) std::_Exit(5);
}

/// Annotates where programs end: in a thread-local destructor, in a destructor of a static object,
/// and after main.
void annotate_late() {
  struct AtEnd {
    char const* name;
    ~AtEnd() {
      nvtxRangePushA(name);
      nvtxRangePop();
    }
  };

  static AtEnd const static_object{"static destructor"};
  std::atexit([] { nvtxMarkA("exit handler"); });
  std::thread([] {
    static thread_local AtEnd const object{"thread destructor"};
    static_cast<void>(object.name);
    pthread_key_t key{};
    pthread_key_create(&key, [](void*) { nvtxMarkA("key destructor"); });
    pthread_setspecific(key, &key);
    nvtxMarkA("in thread");
  }).join();
}

/// Trains before, between and after the two calls, and prints what is left of the tracer behind
/// them.
void train_part(char const* folder) {
  bool const early = folder != nullptr;  // the first use of NVTX has to come after the start then
  if (!early) train(1);

  bool const started = start_capture(folder);
  int64_t const resident = stepscope::tracer::resident_kb();

  for (int i = 0; i < 3; ++i) launch_step(static_cast<uint64_t>(i) * 10);
  flood(2, 200'000);
  nvtxRangePushA("around the end");

  bool const stopped = stop_capture();
  nvtxRangePop();
  int const level = nvtxRangePushA("too late");
  train(1);

  bool const is_set = std::getenv("STEPSCOPE_OUTPUT") != nullptr;
  bool const again = start_capture(folder);
  ::malloc_trim(0);  // what the C library keeps of freed memory is not the tracer's

  std::printf("started %d stopped %d level %d threads %d again %d grown %d KiB signals %d\n%s\n",
              static_cast<int>(started), static_cast<int>(stopped), level,
              stepscope::tracer::count_threads(), static_cast<int>(again),
              static_cast<int>(stepscope::tracer::resident_kb() - resident),
              stepscope::tracer::changed_signals(), capture_error());
  std::printf("environment %s\n", is_set ? "is set" : "is as it was");
}

/// Three windows of one step each, and what is between them.
void train_windows(char const* folder) {
  for (uint64_t i = 1; i <= 3; ++i) {
    bool const started = start_window(folder);
    launch_step(i * 10);
    bool const stopped = stop_window();

    std::printf("window %d: started %d stopped %d %s\n", static_cast<int>(i),
                static_cast<int>(started), static_cast<int>(stopped), capture_error());
    launch_step(i * 10 + 5);
  }

  bool const elsewhere = start_window("elsewhere");
  std::printf("elsewhere %d: %s\n", static_cast<int>(elsewhere), capture_error());
}

/// Writes more than RLIMIT_FSIZE lets it: to the tracer the disk is full.
void fill_disk() {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit const limit = {64 * 1024, 64 * 1024};
  ::setrlimit(RLIMIT_FSIZE, &limit);

  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20'000; ++i) {
      nvtxRangePushA(std::to_string(round * 20'000 + i).c_str());
      nvtxRangePop();
    }
    sleep_ms(60);
  }
}

}  // namespace

int main(int argc, char** argv) {
  stepscope::tracer::changed_signals();
  std::string_view const what = argc > 1 ? argv[1] : "";

  if (what == "train") train(argc > 2 ? std::atoi(argv[2]) : 3);
  if (what == "train-aloud") train_aloud(argv[2], std::atoi(argv[3]));
  if (what == "train-together")
    train_together(argv[2], std::atoi(argv[3]), argv[4], std::atoi(argv[5]));
  if (what == "nvtx") use_nvtx();
  if (what == "annotated-ranges") annotate_ranges();
  if (what == "notes") make_notes();

  if (what.starts_with("cuda")) start_cuda();
  if (what == "cuda-and-names") name_cuda_resources();
  if (what == "cuda-and-fork") fork_once();
  if (what == "cuda-and-train") train(3);

  if (what == "odd-payloads") use_odd_payloads();
  if (what == "run-for-ever") run_for(std::chrono::hours(1));
  if (what == "run") run_for(std::chrono::milliseconds(std::atoi(argv[2])));
  if (what == "run-and-exit-now") {
    run_for(std::chrono::milliseconds(std::atoi(argv[2])));
    std::printf("%lld\n", static_cast<long long>(stepscope::tracer::epoch_ms()));
    std::fflush(stdout);
    ::_exit(7);
  }

  if (what == "tasks") run_tasks(std::atoi(argv[2]));
  if (what == "fork") fork_once();
  if (what == "fork-under-load") fork_under_load();
  if (what == "annotate-late") annotate_late();
  if (what == "flood") flood(std::atoi(argv[2]), std::atoi(argv[3]));
  if (what == "train-part") train_part(argc > 2 ? argv[2] : nullptr);
  if (what == "train-windows") train_windows(argc > 2 ? argv[2] : nullptr);
  if (what == "fill-disk") fill_disk();

  if (what == "exec") {
    nvtxMarkA("before exec");
    stepscope::tracer::wait_until_saved(stepscope::model::EventKind::kMark, 1);
    std::array<char*, 3> arguments = {argv[0], std::getenv("EXEC_WHAT"), nullptr};
    ::execv("/proc/self/exe", arguments.data());
  }
  if (what == "exit-now") {
    train(2);
    stepscope::tracer::wait_until_saved(stepscope::model::EventKind::kStep, 2);
    stepscope::tracer::wait_until_saved(stepscope::model::EventKind::kKernel, 2);
    ::_exit(7);
  }

  std::puts("done");
  return argc > 2 && what == "return" ? std::atoi(argv[2]) : 0;
}
