// How long the first page of `stepscope live` takes, and each one after it. The streams of many
// ranks grow by a record a page. Prints the memory that it holds, too.
//
//     build/release/bench/live_page [--ranks 256] [--steps 20000] [--pages 50]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reports/live/live_page.h"
#include "run_loading/live_streams.h"
#include "trace/stream/stream_file.h"

namespace {

using namespace stepscope;
namespace fs = std::filesystem;

stream::StepRecord record_of(int32_t rank, int64_t step) {
  stream::StepRecord record;
  record.step = step;

  int64_t const length = 400'000'000 + (step * 7919 + rank * 104'729) % 4'000'000;
  record.begin_ns = step * 400'000'000;
  record.length_ns = record.longest_ns = length;
  record.device = 0;
  record.parts = {300'000'000, length - 320'000'000, 0, 0, 0, 20'000'000};
  record.comm_ns = length - 310'000'000;
  record.collectives = 40;
  record.kernels = 4'000;
  record.peak_bytes = int64_t{60} << 30;
  record.power_mw = 650'000;
  return record;
}

void append_records(std::string const& path, int32_t rank, int64_t first, int64_t count) {
  std::vector<std::byte> bytes;
  if (first == 0) {
    model::TraceInfo info;
    info.rank = rank;
    info.process_id = 1000 + rank;
    info.host = fmt::format("node-{}", rank / 8);
    info.origin_epoch_ns = 1'700'000'000'000'000'000;
    bytes = stream::encode_header(info);
  }

  for (int64_t step = first; step < first + count; ++step)
    stream::encode(record_of(rank, step), bytes);
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<char const*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

double page_ms(run_loading::LiveStreams& streams, bool refresh) {
  auto const begin = std::chrono::steady_clock::now();
  if (refresh) streams.refresh();
  auto const state = reports::live_state("run", streams.run(), 400, 0);
  std::string const page = reports::live_page(state, 16, {});
  auto const end = std::chrono::steady_clock::now();
  if (page.empty()) std::abort();
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

int64_t most_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6);
  return 0;
}

int64_t option(int count, char** arguments, std::string_view name, int64_t otherwise) {
  for (int i = 1; i + 1 < count; ++i)
    if (arguments[i] == name) return std::atoll(arguments[i + 1]);
  return otherwise;
}

}  // namespace

int main(int count, char** arguments) {
  auto const ranks = static_cast<int32_t>(option(count, arguments, "--ranks", 256));
  int64_t const steps = option(count, arguments, "--steps", 20'000);
  int64_t const pages = option(count, arguments, "--pages", 50);
  std::string const folder =
      (fs::temp_directory_path() / fmt::format("live-page-{}", ranks)).string();
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto const path = [&](int32_t rank) { return fmt::format("{}/rank-{}.steps", folder, rank); };
  for (int32_t rank = 0; rank < ranks; ++rank) append_records(path(rank), rank, 0, steps);

  auto const begin = std::chrono::steady_clock::now();
  auto streams = run_loading::LiveStreams::open(folder);
  if (!streams) {
    fmt::print(stderr, "{}\n", streams.error().message);
    return 1;
  }
  double const shown = page_ms(*streams, false);
  double const first =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();

  std::vector<double> later;
  for (int64_t page = 0; page < pages; ++page) {
    for (int32_t rank = 0; rank < ranks; ++rank) append_records(path(rank), rank, steps + page, 1);
    later.push_back(page_ms(*streams, true));
  }
  std::sort(later.begin(), later.end());
  fmt::print(
      "{} ranks of {} steps: first page {:.1f} ms ({:.1f} of them without reading), further ones "
      "{:.1f} ms (median), {:.1f} ms (slowest); {:.1f} MiB at most\n",
      ranks, steps, first, shown, later[later.size() / 2], later.back(),
      static_cast<double>(most_memory_kib()) / 1024);
  fs::remove_all(folder);
  return 0;
}
