// Does the recorder keep up? Some threads record ranges at a rate given by the clock for some
// seconds. The program prints what was lost, what each side used of the processor, and the size of
// the file.
// The default is the target of docs/design/BENCHMARKS.md: two threads of 10 M ranges a second for
// ten seconds with the default buffer.
//
//   build/release/bench/record_flood [threads] [ranges a second and thread] [seconds] [buffer MB]
//   [names]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <time.h>
#include <unistd.h>

#include "tracer/core/session.h"
#include "tracer/nvtx/nvtx_source.h"

namespace {

namespace fs = std::filesystem;
using namespace stepscope::tracer;

/// A thread that is behind sleeps no more until it has caught up; else it records for a part of
/// this time and sleeps.
constexpr std::chrono::milliseconds kSlot{1};

struct Flood {
  int threads = 2;
  int64_t rate = 10'000'000;
  int seconds = 10;
  size_t buffer_mb = kDefaultBufferMb;
  size_t names = 100;
};

double cpu_seconds(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Records; returns the processor time that it took.
double record(NvtxSource& source, Flood const& flood, int64_t number) {
  std::vector<std::string> names;
  for (size_t i = 0; i < flood.names; ++i) names.push_back("layer_" + std::to_string(i));

  ThreadRecorder& recorder = *source.attach(number);
  int64_t const ranges_a_slot = flood.rate * kSlot.count() / 1000;
  auto const begin = std::chrono::steady_clock::now();
  size_t name = 0;

  for (int64_t slot = 0; slot < flood.seconds * (1000 / kSlot.count()); ++slot) {
    std::this_thread::sleep_until(begin + slot * kSlot);
    for (int64_t i = 0; i < ranges_a_slot; ++i) {
      recorder.push_text(kDefaultDomain, names[name].c_str());
      recorder.pop(kDefaultDomain);
      name = name + 1 < names.size() ? name + 1 : 0;
    }
  }

  recorder.close({"flood"});
  return cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}

Flood parse(int argc, char** argv) {
  Flood flood;
  if (argc > 1) flood.threads = std::atoi(argv[1]);
  if (argc > 2) flood.rate = std::atoll(argv[2]);
  if (argc > 3) flood.seconds = std::atoi(argv[3]);
  if (argc > 4) flood.buffer_mb = static_cast<size_t>(std::atoll(argv[4]));
  if (argc > 5) flood.names = static_cast<size_t>(std::atoll(argv[5]));
  return flood;
}

}  // namespace

int main(int argc, char** argv) {
  Flood const flood = parse(argc, argv);
  fs::path const folder =
      fs::temp_directory_path() / ("record_flood_" + std::to_string(::getpid()));
  fs::create_directories(folder);

  CaptureOptions options;
  options.folder = folder;
  options.buffer_bytes = flood.buffer_mb << 20;

  Registry registry;
  Session session(options);
  auto owned = std::make_unique<NvtxSource>(session.window(), session.tick_source(), registry,
                                            options.buffer_bytes);
  NvtxSource& source = *owned;
  session.add_source(std::move(owned));
  session.start();

  auto const begin = std::chrono::steady_clock::now();
  std::vector<double> producers(static_cast<size_t>(flood.threads));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < producers.size(); ++t)
    threads.emplace_back([&, t] { producers[t] = record(source, flood, static_cast<int64_t>(t)); });
  for (std::thread& thread : threads) thread.join();

  auto const elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double const recorded = elapsed();
  session.stop();
  double const written = elapsed();

  SessionReport const& report = session.report();
  double const events = static_cast<double>(report.events + report.dropped + report.unwritten);
  double recording = 0;
  for (double const seconds : producers) recording += seconds;
  double const writing = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - recording;
  auto const bytes = static_cast<double>(fs::file_size(report.path));

  std::printf("%d threads x %.1f M ranges/s x %d s, buffer %zu MB\n", flood.threads,
              static_cast<double>(flood.rate) * 1e-6, flood.seconds, flood.buffer_mb);
  std::printf("ranges        %14.0f  in %.2f s (%.1f M/s), file complete after %.2f s\n", events,
              recorded, events / recorded * 1e-6, written);
  std::printf("lost          %14llu  (%.3f %%)  %s\n",
              static_cast<unsigned long long>(report.dropped),
              100 * static_cast<double>(report.dropped) / events, report.failure.c_str());
  std::printf("recording     %14.1f  ns of processor time a range\n", recording * 1e9 / events);
  std::printf("decode, write %14.1f  ns of processor time a written range\n",
              writing * 1e9 / static_cast<double>(report.events));
  std::printf("file          %14.2f  bytes a range, %.0f MB\n",
              bytes / static_cast<double>(report.events), bytes * 1e-6);

  fs::remove_all(folder);
  return 0;
}
