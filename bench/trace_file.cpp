// How small and how fast trace files are, compared with the machine's limits, measured in the same
// run.
//   trace_file [FOLDER OF KINETO TRACES]     e.g. v100-ddp-memory-rank1of2.json.gz and
//   v100-resnet-ns.json.gz
// For each trace: bytes an event as JSON, gzip, 24-byte structs and ours; encoding, decoding,
// summaries; and a long track's view. Medians of kRepeats; rates of one core.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/median.h"
#include "trace/base/format.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/summary/track_pyramid.h"

namespace {

using namespace stepscope;
/// Numbers with 64 bits of mantissa: epoch µs with three decimals do not fit into a double.
using json =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, long double>;

constexpr int kRepeats = 9;

double seconds_of(std::function<void()> const& work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median_s(std::function<void()> const& work) { return bench::median_s(kRepeats, work); }

// Real events.

struct Sample {
  std::string name;
  uint64_t json_bytes = 0, gzip_bytes = 0;
  model::Trace trace;
};

std::string output_of(std::string const& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> const pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::vector<char> buffer(1 << 20);
  while (size_t const count = pipe ? fread(buffer.data(), 1, buffer.size(), pipe.get()) : 0)
    text.append(buffer.data(), count);
  return text;
}

int64_t nanoseconds(json const& event, char const* key) {
  return event.contains(key) && event[key].is_number()
             ? std::llround(event[key].get<long double>() * 1000)
             : 0;
}

/// The complete events of a Kineto trace: start, duration, track, name, correlation; kernels and
/// copies with what we keep of them. (The importer reads far more; this is for counting bytes.)
/// `details` false: every event is a plain range.
model::Trace trace_of(json const& root, bool details) {
  model::TraceBuilder builder;
  std::map<std::string, model::TrackId> tracks;
  int64_t first = INT64_MAX;

  for (json const& event : root["traceEvents"])
    if (event.value("ph", "") == "X") first = std::min(first, nanoseconds(event, "ts"));

  for (json const& event : root["traceEvents"]) {
    if (event.value("ph", "") != "X") continue;
    std::string const category = event.value("cat", "");
    std::string const key = event["pid"].dump() + "/" + event["tid"].dump();
    auto const [track, is_new] = tracks.try_emplace(key);
    if (is_new) track->second = builder.add_track({.name = key});

    json const arguments = event.value("args", json::object());
    auto const number = [&](char const* name) {
      return arguments.contains(name) && arguments[name].is_number()
                 ? arguments[name].get<int64_t>()
                 : int64_t{0};
    };

    int64_t const start = nanoseconds(event, "ts") - first;
    int64_t const dur = nanoseconds(event, "dur");
    model::StringId const name = builder.intern(event["name"].get<std::string>());
    auto const correlation = static_cast<uint64_t>(number("correlation"));

    model::EventBatch& batch = builder.events(track->second);

    if (details && category == "kernel") {
      model::KernelDetail kernel;
      if (arguments.contains("grid") && arguments.contains("block")) {
        kernel.grid_x = arguments["grid"][0];
        kernel.grid_y = arguments["grid"][1];
        kernel.grid_z = arguments["grid"][2];
        kernel.block_x = arguments["block"][0];
        kernel.block_y = arguments["block"][1];
        kernel.block_z = arguments["block"][2];
      }
      kernel.registers_per_thread = static_cast<uint32_t>(number("registers per thread"));
      kernel.shared_memory_bytes = static_cast<uint32_t>(number("shared memory"));
      batch.add(model::EventKind::kKernel, start, dur, name, correlation, kernel);
    } else if (details && category == "gpu_memcpy") {
      batch.add(model::EventKind::kMemcpy, start, dur, name, correlation,
                model::CopyDetail{.bytes = static_cast<uint64_t>(number("bytes"))});
    } else {
      batch.add(correlation != 0 && details ? model::EventKind::kLaunch : model::EventKind::kRange,
                start, dur, name, correlation);
    }
  }

  return std::move(builder).finish();
}

// What is measured.

/// The event blocks of a trace, encoded.
struct Encoded {
  struct Block {
    base::ByteWriter payload;
    uint32_t rows = 0;
  };
  std::vector<Block> blocks;
  [[nodiscard]] uint64_t bytes() const {
    uint64_t sum = 0;
    for (Block const& block : blocks) sum += block.payload.size() + file::kBlockHeaderSize;
    return sum;
  }
};

Encoded encode(model::Trace const& trace, file::EventEncoder& encoder) {
  Encoded out;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    model::EventView events = trace.events_of(model::TrackId{track});
    while (!events.empty()) {
      auto const rows = events.take_front(std::min(events.size(), file::kMaxBlockRows));
      Encoded::Block block;
      encoder.encode(rows, block.payload);
      block.rows = static_cast<uint32_t>(rows.size());
      file::encode_block_header({}, block.payload.span());  // the checksum
      out.blocks.push_back(std::move(block));
    }
  }

  return out;
}

void print_sizes(std::vector<Sample> const& plain, std::vector<Sample> const& full) {
  fmt::print(
      "Bytes an event (start, duration, track, name, correlation; the last column with every "
      "detail)\n");

  fmt::print("{:<28} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "trace", "events", "JSON", "gzip",
             "structs", "ours", "details");

  for (size_t i = 0; i < plain.size(); ++i) {
    file::EventEncoder encoder;
    double const events = plain[i].trace.event_count();
    fmt::print("{:<28} {:>9} {:>8.1f} {:>8.2f} {:>8} {:>8.2f} {:>8.2f}\n", plain[i].name,
               plain[i].trace.event_count(), static_cast<double>(plain[i].json_bytes) / events,
               static_cast<double>(plain[i].gzip_bytes) / events, 24,
               static_cast<double>(encode(plain[i].trace, encoder).bytes()) / events,
               static_cast<double>(encode(full[i].trace, encoder).bytes()) / events);
  }
}

/// ns an event for one pass over the columns' bytes: what any reader or writer pays at least.
double copy_limit(model::Trace const& trace) {
  auto const& columns = trace.columns();
  std::vector<char> target(columns.start.size() * sizeof(int64_t));

  double const seconds = median_s([&] {
    std::memcpy(target.data(), columns.start.data(), columns.start.size() * 8);
    std::memcpy(target.data(), columns.dur.data(), columns.dur.size() * 8);
    std::memcpy(target.data(), columns.correlation.data(), columns.correlation.size() * 8);
    std::memcpy(target.data(), columns.name.data(), columns.name.size() * 4);
    std::memcpy(target.data(), columns.kind.data(), columns.kind.size());
  });

  return seconds * 1e9 / trace.event_count();
}

void print_speed(Sample const& sample) {
  double const events = sample.trace.event_count();
  file::EventEncoder encoder;
  Encoded encoded;
  double const encoding = median_s([&] { encoded = encode(sample.trace, encoder); });

  file::EventDecoder decoder;
  model::EventBatch batch;
  uint64_t unknown = 0;
  uint64_t rows = 0;

  double const decoding = median_s([&] {
    for (Encoded::Block const& block : encoded.blocks) {
      if (!decoder.decode(block.payload.span(), block.rows, file::current_columns(), {}, batch,
                          unknown))
        std::abort();
      rows += batch.size();
    }
  });

  double const summarizing = median_s([&] {
    for (uint32_t track = 0; track < sample.trace.tracks().size(); ++track)
      file::summary_of(sample.trace, model::TrackId{track});
  });

  fmt::print("{:<28} {:>9.1f} {:>9.1f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", sample.name,
             events / encoding / 1e6, events / decoding / 1e6, encoding * 1e9 / events,
             decoding * 1e9 / events, summarizing * 1e9 / events, copy_limit(sample.trace));
}

/// A stream of `count` kernels with pauses, as one track.
model::Trace long_track(uint32_t count) {
  model::TraceBuilder builder;
  model::TrackId const track =
      builder.add_track({.kind = model::TrackKind::kStream, .name = "stream", .device = 0});

  model::EventBatch& batch = builder.events(track);
  batch.reserve(count);
  uint64_t state = 1;
  int64_t time = 0;

  for (uint32_t i = 0; i < count; ++i) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    auto const dur = static_cast<int64_t>(2000 + (state >> 33) % 60'000);
    batch.add_range(time, dur, model::StringId{0});
    time += dur + static_cast<int64_t>(state >> 60) * 300 + (i % 1000 == 0 ? 2'000'000 : 0);
  }

  return std::move(builder).finish();
}

void print_pyramid() {
  constexpr uint32_t kEvents = 100'000'000;
  model::Trace const trace = long_track(kEvents);
  model::TrackSummary summary;
  model::EventView const events = trace.events_of(model::TrackId{0});

  double const building =
      median_s([&] { summary = model::summarize(events, trace.columns().depth); });

  base::ByteWriter stored;
  file::ColumnEncoder columns;
  file::encode_summary(summary, columns, stored);

  model::TrackPyramid pyramid;
  double const loading = seconds_of([&] { pyramid = model::TrackPyramid(summary); });
  int64_t begin = 0, end = 0;
  std::tie(begin, end) = trace.time_range();

  uint64_t seen = 0;  // keeps the work from being optimised away
  double const whole = median_s([&] { seen += pyramid.view(begin, end, 1920).back().starts; });
  double const part = median_s([&] {
    seen += pyramid.view(begin + (end - begin) / 3, begin + (end - begin) / 2, 1920).back().starts;
  });

  fmt::print("\nOne track of {} events\n", base::format_count(kEvents));
  fmt::print(
      "  summary       {:8.2f} ns an event to build, {:.3f} bytes an event in the file, {} bins\n",
      building * 1e9 / kEvents, static_cast<double>(stored.size()) / kEvents, summary.size());
  fmt::print("  pyramid       {:8.2f} ms to make from the summary\n", loading * 1e3);
  fmt::print("  1,920 bins    {:8.3f} ms of the whole, {:.3f} ms of a sixth{}\n", whole * 1e3,
             part * 1e3, seen == 0 ? " " : "");
}

std::vector<std::pair<Sample, Sample>> load(std::filesystem::path const& folder) {
  std::vector<std::pair<Sample, Sample>> samples;
  for (char const* const name : {"v100-ddp-memory-rank1of2", "v100-resnet-ns"}) {
    auto const path = folder / (std::string(name) + ".json.gz");
    if (!std::filesystem::exists(path)) continue;

    std::string const text = output_of("gzip -dc '" + path.string() + "'");
    json const root = json::parse(text);
    auto const make = [&](bool details) {
      return Sample{name, text.size(), std::filesystem::file_size(path), trace_of(root, details)};
    };

    samples.emplace_back(make(false), make(true));
  }

  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::vector<Sample> plain;
    std::vector<Sample> full;
    for (auto& [without, with] : load(argv[1])) {
      plain.push_back(std::move(without));
      full.push_back(std::move(with));
    }

    print_sizes(plain, full);
    fmt::print(
        "\nSpeed on one core, every column and detail (M events/s, then ns an event; copy: the "
        "columns copied once)\n");
    fmt::print("{:<28} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "trace", "encode", "decode",
               "encode", "decode", "summary", "copy");
    for (Sample const& sample : full) print_speed(sample);
  }

  print_pyramid();
  return 0;
}
