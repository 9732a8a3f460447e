// What recording a range costs the traced thread: an NVTX push + pop without a tool, with the tracer inside, with a 24-byte
// payload, and the limit: two clock reads and the stores of the same bytes. Also while the writer drains, as it always does.
//
// NVTX looks for its tool once in a process, so the program measures "without" in a copy of itself first.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "tracer/api/device_events.h"
#include "tracer/core/clock.h"

namespace {

namespace fs = std::filesystem;
using stepscope::tracer::read_ticks;
using stepscope::tracer::TickSource;

/// Words of a ring that both limits write to: small enough to stay in the second-level cache, as a drained ring does.
constexpr size_t kLimitWords = 1 << 15;
constexpr size_t kPushWords = 4, kPopWords = 2;
/// Bursts that the default buffers hold without the writer: nothing is dropped while the clock runs.
constexpr int kBurst = 100'000;

/// Lets the writer thread catch up before the clock starts.
void let_writer_drain() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

void push_and_pop(benchmark::State& state) {
  let_writer_drain();
  for (auto _ : state) {
    nvtxRangePushA("forward");
    nvtxRangePop();
  }
  state.SetItemsProcessed(state.iterations());
}

void push_and_pop_with_payload(benchmark::State& state) {
  stepscope::api::KernelPayload payload{1, 0, 0, 4096, 1e6};
  let_writer_drain();
  for (auto _ : state) {
    stepscope::api::DeviceRange const range(stepscope::api::DeviceSchema::kKernel, "conv1", payload);
    ++payload.correlation;
  }
  state.SetItemsProcessed(state.iterations());
}

/// Two clock reads and the stores of a push ("forward": 4 words) and a pop (2 words).
void limit(benchmark::State& state) {
  TickSource const source = stepscope::tracer::choose_tick_source();
  auto const words = std::make_unique<std::array<uint64_t, kLimitWords>>();
  size_t position = 0;
  for (auto _ : state) {
    uint64_t* const push = words->data() + position;
    push[0] = 1;
    push[2] = 2;
    push[3] = 3;
    push[1] = static_cast<uint64_t>(read_ticks(source));
    uint64_t* const pop = push + kPushWords;
    pop[1] = static_cast<uint64_t>(read_ticks(source));
    pop[0] = 4;
    position = (position + kPushWords + kPopWords) % (kLimitWords - kPushWords - kPopWords);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

int run(int argc, char** argv, bool injected) {
  std::string const suffix = injected ? "/traced" : "/no_tool";
  auto const add = [&](char const* name, void (*function)(benchmark::State&)) {
    return benchmark::RegisterBenchmark((name + suffix).c_str(), function);
  };
  add("limit_two_clock_reads_and_stores", limit);
  auto* const plain = add("push_pop", push_and_pop);
  auto* const payload = add("push_pop_payload", push_and_pop_with_payload);
  auto* const threads = add("push_pop_two_threads", push_and_pop);
  threads->Threads(2);
  if (injected) {
    for (auto* const one : {plain, payload, threads}) one->Iterations(kBurst)->Repetitions(9)->ReportAggregatesOnly();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::unsetenv("NVTX_INJECTION64_PATH");
    ::_exit(run(argc, argv, false));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fs::path const library = fs::read_symlink("/proc/self/exe").parent_path() / "../lib/libstepscope-tracer.so";
  fs::path const folder = fs::temp_directory_path() / ("record_overhead_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  ::setenv("NVTX_INJECTION64_PATH", fs::weakly_canonical(library).c_str(), 1);
  ::setenv("STEPSCOPE_OUTPUT", folder.c_str(), 1);
  ::setenv("STEPSCOPE_REPORT_LOSS", "1", 1);
  int const result = run(argc, argv, true);
  fs::remove_all(folder);
  return result;
}
