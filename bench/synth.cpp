// How fast runs are made, by pattern: simulated, with their truth, encoded, compressed and written,
// in memory where /dev/shm is there, so that no disk is measured.
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include "trace/synth/synth.h"

namespace {

using namespace stepscope;

constexpr int32_t kRanks = 4;
constexpr uint64_t kEventsPerRank = 500'000;

std::string make_folder() {
  std::error_code error;
  std::string const parent = std::filesystem::is_directory("/dev/shm", error)
                                 ? "/dev/shm"
                                 : std::filesystem::temp_directory_path();
  std::string pattern = parent + "/stepscope-synth-XXXXXX";
  return mkdtemp(pattern.data());
}

void bm_make_run(benchmark::State& state, char const* pattern) {
  synth::SynthOptions options;
  options.pattern = synth::find_pattern(pattern);
  options.ranks = kRanks;
  options.events_per_rank = kEventsPerRank;

  uint64_t events = 0;

  for (auto _ : state) {
    state.PauseTiming();
    std::string const folder = make_folder();
    state.ResumeTiming();

    auto const made = synth::make_run(options, folder);
    state.PauseTiming();
    std::filesystem::remove_all(folder);
    if (!made) return state.SkipWithError(made.error().message.c_str());
    events += made->events;
    state.ResumeTiming();
  }

  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(bm_make_run, dp, "dp")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(bm_make_run, pipeline, "pipeline")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(bm_make_run, moe, "moe")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
