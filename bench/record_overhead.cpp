// What does recording a range cost the traced thread? Prints, from one run, ns a range (median of bursts) and the ratio to the
// limit:
//   limit          two clock reads and the stores of what a range is: three words
//   no tool        NVTX push + pop in a program without the tracer
//   recorder       ThreadRecorder::push_text + pop into a ring that nobody drains meanwhile
//   traced         NVTX push + pop with the tracer inside, in bursts between which the writer rests
//   while draining the same at 10 M ranges/s: the writer decodes and encodes all the time
// and, on the other side of the ring,
//   decode         records → rows of the track, of the writer thread's time
//
//   build/release/bench/record_overhead
//
// A burst is short enough that most are not interrupted, so the median is what a range costs and not what the machine does else.
// NVTX looks for its tool once in a process, so each of the two worlds is measured in a copy of this program.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/api/device_events.h"
#include "tracer/core/clock.h"
#include "tracer/nvtx/decoder.h"
#include "tracer/nvtx/thread_recorder.h"

namespace {

namespace fs = std::filesystem;
using stepscope::tracer::monotonic_ns;
using stepscope::tracer::read_ticks;
using stepscope::tracer::TickSource;

constexpr int kBurst = 1000;
constexpr int kBursts = 2000;
/// The rate of the last line: a burst every 100 µs.
constexpr int64_t kPacedBurstNs = 100'000;

/// Median ns a range over kBursts calls of burst(), each kBurst ranges; pause() runs before each.
template <class Burst, class Pause>
double median_ns(Burst const& burst, Pause const& pause) {
  std::vector<double> times;
  for (int i = 0; i < kBursts; ++i) {
    pause();
    int64_t const begin = monotonic_ns();
    burst();
    times.push_back(static_cast<double>(monotonic_ns() - begin) / kBurst);
  }
  std::nth_element(times.begin(), times.begin() + kBursts / 2, times.end());
  return times[kBursts / 2];
}

void nothing() {}

double limit() {
  TickSource const source = stepscope::tracer::choose_tick_source();
  auto const words = std::make_unique<std::array<uint64_t, 3 * kBurst>>();
  auto const burst = [&] {
    for (uint64_t* record = words->data(); record != words->data() + words->size(); record += 3) {
      record[1] = 0x0064'7261'7772'6f66;  // "forward"
      record[0] = static_cast<uint64_t>(read_ticks(source)) << 8;
      record[2] = static_cast<uint64_t>(read_ticks(source)) << 8;
      asm volatile("" ::: "memory");
    }
  };
  return median_ns(burst, nothing);
}

double recorder() {
  using namespace stepscope::tracer;
  CaptureWindow window{std::nullopt};
  ThreadRecorder thread(window, choose_tick_source(), 0, 1, 1 << 20);
  auto const burst = [&] {
    for (int i = 0; i < kBurst; ++i) {
      thread.push_text(kDefaultDomain, "forward");
      thread.pop(kDefaultDomain);
    }
  };
  return median_ns(burst, [&] { thread.ring().release(thread.ring().head()); });
}

/// Nested three deep, with names of one to three words.
double decode() {
  using namespace stepscope::tracer;
  constexpr std::array<char const*, 6> kNames = {"forward", "encoder.layer.11", "optimizer", "loss", "aten::conv2d", "backward"};
  CaptureWindow window{std::nullopt};
  Registry registry;
  Decoder decoder(registry, false);
  TraceStore store;
  TickSource const source = choose_tick_source();
  ClockFit clock(sample_clocks(source));
  ThreadRecorder thread(window, source, 0, 1, 1 << 20);
  Ring& ring = thread.ring();
  stepscope::model::EventBatch spare;
  auto const record = [&] {
    ring.release(ring.head());
    spare.clear();
    spare = store.rows(decoder.thread_track(0, store)).take(std::move(spare));
    for (int i = 0; i < kBurst; ++i) {
      thread.push_text(kDefaultDomain, kNames[static_cast<size_t>(i) % kNames.size()]);
      if (i % 4 == 3) {
        for (int depth = 0; depth < 4; ++depth) thread.pop(kDefaultDomain);
      }
    }
    clock.add(sample_clocks(source));
  };
  return median_ns(
      [&] {
        for (uint64_t position = ring.tail(); position < ring.head();) {
          size_t const words = std::min(ring.head() - position, ring.words_to_end(position));
          position += decoder.decode(0, {ring.at(position), words}, clock, store);
        }
      },
      record);
}

void push_and_pop() {
  for (int i = 0; i < kBurst; ++i) {
    nvtxRangePushA("forward");
    nvtxRangePop();
  }
}

void push_and_pop_with_payload() {
  stepscope::api::KernelPayload payload{1, 0, 0, 4096, 1e6};
  for (int i = 0; i < kBurst; ++i) {
    stepscope::api::DeviceRange const range(stepscope::api::DeviceSchema::kKernel, "conv1", payload);
    ++payload.correlation;
  }
}

/// After a rest of the writer, bursts in a row for less than one of its periods.
void rest() {
  static int bursts = 0;
  if (bursts++ % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(6));
}

void wait_for_next_slot() {
  static int64_t next = monotonic_ns();
  next = std::max(next + kPacedBurstNs, monotonic_ns() - 10 * kPacedBurstNs);
  while (monotonic_ns() < next) {
  }
}

struct Results {
  double limit, recorder, decode, no_tool, no_tool_payload, traced, draining, payload;
};

/// Runs measure() in a copy of this program.
template <class Measure>
void in_child(Measure const& measure) {
  std::fflush(stdout);
  pid_t const child = ::fork();
  if (child == 0) {
    measure();
    std::exit(0);  // the tracer ends its file
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

void use_tracer(fs::path const& folder) {
  fs::path const library = fs::read_symlink("/proc/self/exe").parent_path() / "../lib/libstepscope-tracer.so";
  ::setenv("NVTX_INJECTION64_PATH", fs::weakly_canonical(library).c_str(), 1);
  ::setenv("STEPSCOPE_OUTPUT", folder.c_str(), 1);
  ::setenv("STEPSCOPE_REPORT_LOSS", "1", 1);
}

}  // namespace

int main() {
  void* const shared = ::mmap(nullptr, sizeof(Results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& results = *static_cast<Results*>(shared);
  ::unsetenv("NVTX_INJECTION64_PATH");
  in_child([&] {
    results.limit = limit();
    results.recorder = recorder();
    results.decode = decode();
    results.no_tool = median_ns(push_and_pop, nothing);
    results.no_tool_payload = median_ns(push_and_pop_with_payload, nothing);
  });
  fs::path const folder = fs::temp_directory_path() / ("record_overhead_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  use_tracer(folder);
  in_child([&] {
    results.traced = median_ns(push_and_pop, rest);
    results.payload = median_ns(push_and_pop_with_payload, rest);
    results.draining = median_ns(push_and_pop, wait_for_next_slot);
  });
  fs::remove_all(folder);
  auto const print = [&](char const* name, double ns) {
    std::printf("%-34s %6.1f ns  %5.2f x limit\n", name, ns, ns / results.limit);
  };
  print("limit", results.limit);
  print("no tool", results.no_tool);
  print("no tool, 40-byte payload", results.no_tool_payload);
  print("recorder", results.recorder);
  print("traced", results.traced);
  print("traced, 40-byte payload", results.payload);
  print("traced, while the writer drains", results.draining);
  print("decode", results.decode);
  std::printf("while draining / between drains    %6.2f\n", results.draining / results.traced);
  return 0;
}
