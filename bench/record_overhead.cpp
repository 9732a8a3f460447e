// What does recording a range cost the traced thread? Prints, from one run, ns a range and the
// ratio to the limit:
//   limit           two clock reads and the stores of what a range is: three words
//   no tool         NVTX push + pop in a program without the tracer
//   recorder        ThreadRecorder::push_text + pop into a ring that no thread drains meanwhile
//   traced          NVTX push + pop with the tracer inside, in bursts between which the writer
//   rests while draining  the same at 10 M ranges/s: the writer decodes and encodes all the time
//   behind the end  NVTX push + pop after the capture has ended
//   between windows the same while the tracer waits for the steps of its next window
// and, on the other side of the ring,
//   decode          records → rows of the track, of the writer thread's time
//
//   build/release/bench/record_overhead
//
// Machines are shared and change their speed within seconds: everything is measured in turn, round
// after round. A figure is the median of its rounds, a ratio the median of the rounds' ratios.
// Within a round the median burst counts: a burst is short enough that most are not interrupted.
// NVTX looks for its tool once in a process, so the worlds without and with it are two processes.
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

#include "tracer/api/annotate.h"
#include "tracer/api/capture.h"
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
constexpr int kBursts = 200;
constexpr int kRounds = 25;
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

/// Two clock reads and the stores of a range named "forward", again and again.
template <class Pause>
double limit_after(Pause const& pause) {
  TickSource const source = stepscope::tracer::choose_tick_source();
  auto const words = std::make_unique<std::array<uint64_t, 3 * kBurst>>();

  auto const burst = [&] {
    for (uint64_t* record = words->data(); record != words->data() + words->size(); record += 3) {
      record[1] = 0x0064'7261'7772'6f66;
      record[0] = static_cast<uint64_t>(read_ticks(source)) << 8;
      record[2] = static_cast<uint64_t>(read_ticks(source)) << 8;
      asm volatile("" ::: "memory");
    }
  };

  return median_ns(burst, pause);
}

double limit() { return limit_after(nothing); }

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
  constexpr std::array<char const*, 6> kNames = {"forward", "encoder.layer.11", "optimizer",
                                                 "loss",    "aten::conv2d",     "backward"};

  CaptureWindow window{std::nullopt};
  Registry registry;
  Decoder decoder(registry, false);
  TraceStore store;
  TickSource const source = choose_tick_source();

  ClockFit clock(sample_clocks(source));
  ThreadRecorder thread(window, source, 0, 1, 1 << 20);
  Ring& ring = thread.ring();
  RowBatch spare;

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
    stepscope::api::DeviceRange const range(stepscope::api::DeviceSchema::kKernel, "conv1",
                                            payload);
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

/// Both while the writer drains 10 M ranges/s. Hyper-threads, as on most rented machines, share
/// execution units: the writer at work slows the other core, and with it the limit. So the limit is
/// measured again.
double traced_while_draining() { return median_ns(push_and_pop, wait_for_next_slot); }
double limit_while_draining() {
  return limit_after([] {
    wait_for_next_slot();
    push_and_pop();
  });
}

struct Series {
  char const* name;
  double (*measure)();
  size_t base;  ///< which of the list is its limit
};
constexpr std::array kWithoutTool = {
    Series{"limit", limit, 0},
    Series{"no tool", [] { return median_ns(push_and_pop, nothing); }, 0},
    Series{"no tool, 40-byte payload", [] { return median_ns(push_and_pop_with_payload, nothing); },
           0},
    Series{"recorder", recorder, 0}, Series{"decode", decode, 0}};
constexpr std::array kWithTool = {
    Series{"limit beside the tracer", limit, 0},
    Series{"traced", [] { return median_ns(push_and_pop, rest); }, 0},
    Series{"traced, 40-byte payload", [] { return median_ns(push_and_pop_with_payload, rest); }, 0},
    Series{"limit while the writer drains", limit_while_draining, 3},
    Series{"traced while the writer drains", traced_while_draining, 3}};

constexpr std::array kBehindTheEnd = {
    Series{"limit, capture ended", limit, 0},
    Series{"no tool any more", [] { return median_ns(push_and_pop, nothing); }, 0}};

constexpr std::array kBetweenWindows = {
    Series{"limit, between windows", limit, 0},
    Series{"between windows", [] { return median_ns(push_and_pop, nothing); }, 0}};

using Rounds = std::array<double, kRounds>;
/// The rounds of all series, in memory that parent and child share.
using Results = std::array<Rounds, kWithoutTool.size() + kWithTool.size() + kBehindTheEnd.size() +
                                       kBetweenWindows.size()>;

template <size_t N>
void measure(std::array<Series, N> const& series, Rounds* results) {
  for (size_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < N; ++i) results[i][round] = series[i].measure();
  }
}

double median(Rounds values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

double median_ratio(Rounds const& values, Rounds const& base) {
  Rounds ratios;
  for (size_t i = 0; i < kRounds; ++i) ratios[i] = values[i] / base[i];
  return median(ratios);
}

template <size_t N>
void print(std::array<Series, N> const& series, Rounds const* results) {
  for (size_t i = 0; i < N; ++i)
    std::printf("%-34s %6.1f ns  %5.2f x limit\n", series[i].name, median(results[i]),
                median_ratio(results[i], results[series[i].base]));
}

/// Runs work() in a copy of this program.
template <class Work>
void in_child(Work const& work) {
  std::fflush(stdout);
  pid_t const child = ::fork();
  if (child == 0) {
    work();
    std::exit(0);  // the tracer ends its file
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

void use_tracer(fs::path const& folder) {
  fs::path const library =
      fs::read_symlink("/proc/self/exe").parent_path() / "../lib/libstepscope-tracer.so";
  ::setenv("NVTX_INJECTION64_PATH", fs::weakly_canonical(library).c_str(), 1);
  ::setenv("STEPSCOPE_OUTPUT", folder.c_str(), 1);
  ::setenv("STEPSCOPE_REPORT_LOSS", "1", 1);
}

}  // namespace

int main() {
  void* const shared =
      ::mmap(nullptr, sizeof(Results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& results = *static_cast<Results*>(shared);
  Rounds* const with_tool = results.data() + kWithoutTool.size();

  ::unsetenv("NVTX_INJECTION64_PATH");
  in_child([&] { measure(kWithoutTool, results.data()); });

  fs::path const folder =
      fs::temp_directory_path() / ("record_overhead_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  use_tracer(folder);
  in_child([&] { measure(kWithTool, with_tool); });

  Rounds* const behind = with_tool + kWithTool.size();
  in_child([&] {
    push_and_pop();
    if (!stepscope::api::stop_capture())
      std::fprintf(stderr, "%s\n", stepscope::api::capture_error());
    measure(kBehindTheEnd, behind);
  });

  Rounds* const between = behind + kBehindTheEnd.size();
  ::setenv("STEPSCOPE_STEPS", "1:1,1000:1000", 1);
  in_child([&] {
    for (int64_t step = 0; step < 3; ++step) stepscope::api::Step const one(step);
    // The first window is written meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    measure(kBetweenWindows, between);
  });

  fs::remove_all(folder);
  print(kWithoutTool, results.data());
  print(kWithTool, with_tool);
  print(kBehindTheEnd, behind);
  print(kBetweenWindows, between);
  return 0;
}
