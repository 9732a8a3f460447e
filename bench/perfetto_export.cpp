// How fast a run is written for Perfetto (and as JSON), in memory where /dev/shm exists. For
// comparison it times copying and writing as many bytes.
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include "trace/base/files/mapped_file.h"
#include "trace/base/files/partial_file.h"
#include "trace/export/exporters.h"
#include "trace/import/open/open_run.h"
#include "trace/synth/synth.h"

namespace {

using namespace stepscope;

constexpr int32_t kRanks = 2;
constexpr uint64_t kEventsPerRank = 1'000'000;

/// A folder with a synthetic run, which is there until the program ends.
class SyntheticRun {
 public:
  SyntheticRun() {
    std::error_code error;
    std::string const parent = std::filesystem::is_directory("/dev/shm", error)
                                   ? "/dev/shm"
                                   : std::filesystem::temp_directory_path();

    folder_ = parent + "/stepscope-export-XXXXXX";
    folder_ = mkdtemp(folder_.data());
    std::filesystem::create_directory(folder_ + "/run");

    synth::SynthOptions options;
    options.pattern = synth::find_pattern("dp");
    options.ranks = kRanks;
    options.events_per_rank = kEventsPerRank;
    if (!synth::make_run(options, folder_ + "/run")) return;
    if (auto opened = import::open_run(folder_ + "/run")) run_ = std::move(*opened);
  }
  ~SyntheticRun() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SyntheticRun(SyntheticRun const&) = delete;
  SyntheticRun& operator=(SyntheticRun const&) = delete;

  [[nodiscard]] model::Run const& run() const { return run_; }
  [[nodiscard]] std::string target() const { return folder_ + "/exported"; }
  [[nodiscard]] uint64_t events() const {
    uint64_t events = 0;
    for (model::RankTrace const& rank : run_.ranks) events += rank.trace.event_count();
    return events;
  }

 private:
  std::string folder_;
  model::Run run_;
};

SyntheticRun const& synthetic_run() {
  static SyntheticRun const made;
  return made;
}

base::Expected<void> export_run(std::string_view name) {
  for (exporting::ExportFormat const& format : exporting::export_formats()) {
    if (format.name != name) continue;
    auto const exporter = format.open(synthetic_run().target());
    if (!exporter) return base::fail_with(exporter);
    for (model::RankTrace const& rank : synthetic_run().run().ranks)
      if (auto const added = (*exporter)->add(rank.trace, rank.offset_ns); !added) return added;
    return (*exporter)->finish();
  }
  return base::fail("no format {}", name);
}

void count(benchmark::State& state, uint64_t events, uint64_t bytes) {
  auto const iterations = static_cast<double>(state.iterations());
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events) * iterations, benchmark::Counter::kIsRate);
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(events);
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void bm_export(benchmark::State& state, char const* format) {
  uint64_t const events = synthetic_run().events();
  for (auto _ : state) {
    auto const exported = export_run(format);
    if (!exported) return state.SkipWithError(exported.error().message.c_str());
  }
  count(state, events, std::filesystem::file_size(synthetic_run().target()));
}

/// Writes the bytes of an exported file through a buffer of the exporter's size to another file.
void bm_write_same_bytes(benchmark::State& state, char const* format) {
  if (auto const exported = export_run(format); !exported)
    return state.SkipWithError(exported.error().message.c_str());

  auto const mapped = base::MappedFile::open(synthetic_run().target());
  if (!mapped) return state.SkipWithError(mapped.error().message.c_str());
  std::string_view const bytes(reinterpret_cast<char const*>(mapped->bytes().data()),
                               mapped->bytes().size());

  constexpr size_t kBufferBytes = size_t{1} << 20U;
  std::vector<char> buffer(kBufferBytes);

  for (auto _ : state) {
    auto file = base::PartialFile::create(synthetic_run().target() + "-copy");
    if (!file) return state.SkipWithError(file.error().message.c_str());

    for (size_t at = 0; at < bytes.size(); at += kBufferBytes) {
      std::string_view const piece = bytes.substr(at, kBufferBytes);
      std::memcpy(buffer.data(), piece.data(), piece.size());
      if (!file->write({buffer.data(), piece.size()})) return state.SkipWithError("cannot write");
    }

    if (!file->finish()) return state.SkipWithError("cannot write");
  }

  count(state, synthetic_run().events(), bytes.size());
}

BENCHMARK_CAPTURE(bm_export, perfetto, "perfetto")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(bm_write_same_bytes, perfetto, "perfetto")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(bm_export, chrome, "chrome")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(bm_write_same_bytes, chrome, "chrome")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
