// How fast XLA profiles are read: xplane_import [MB [FILE]]. Without FILE it makes two profiles of
// about MB (100) in memory. One has a GPU's ops with the stats that CUPTI's records get, and their
// launches. The other has a host's many short ranges as the Python tracer writes them. Medians of
// kRepeats. For comparison it times one core's walk over every field of the same bytes by the
// reader of the wire format, and adding the bytes up. Core time shows whether the machine had free
// cores.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "tests/support/xspace_writer.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/base/protobuf_reader.h"
#include "trace/import/formats/xplane/xplane_importer.h"

namespace {

using namespace stepscope;
using support::PlaneWriter;
using support::Reference;

constexpr int kRepeats = 5;
constexpr double kMega = 1e6;

/// Time of all threads of this process on cores.
double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto const seconds = [](timeval const& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMega;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

struct Cost {
  double wall_s, cpu_s;
};

Cost cost_of(std::function<void()> const& work) {
  std::vector<double> wall, cpu;
  for (int i = 0; i < kRepeats; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    double const cpu_begin = cpu_s();
    work();
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    cpu.push_back(cpu_s() - cpu_begin);
  }
  return {median(wall), median(cpu)};
}

/// Eight GPUs with four streams each, and the thread that launches for each: as many launches as
/// ops.
std::string make_gpu_profile(size_t bytes) {
  // An op and its launch.
  constexpr size_t kBytesAPair = 160, kGpus = 8, kStreams = 4;
  constexpr int64_t kPeriodPs = 10'000'000;
  size_t const pairs = bytes / kBytesAPair / kGpus / kStreams;
  std::vector<std::string> planes;

  PlaneWriter host("/host:CPU");
  uint64_t correlation = 0;
  for (size_t device = 0; device < kGpus; ++device) {
    PlaneWriter gpu(fmt::format("/device:GPU:{}", device));
    uint64_t of_gpu = correlation;

    for (size_t stream = 0; stream < kStreams; ++stream) {
      gpu.line(static_cast<int64_t>(13 + stream), fmt::format("Stream #{}(Kernel)", 13 + stream),
               1000);
      for (size_t i = 0; i < pairs; ++i) {
        size_t const which = i % 200;
        gpu.event(
            fmt::format("loop_fusion_{}", which), static_cast<int64_t>(i) * kPeriodPs,
            kPeriodPs - 1'234'567,
            {{"correlation_id", ++of_gpu},
             {"context_id", Reference{"$$1"}},
             {"theoretical_occupancy_pct", 62.5},
             {"occupancy_min_grid_size", int64_t{264}},
             {"occupancy_suggested_block_size", int64_t{1024}},
             {"kernel_details",
              Reference{fmt::format(
                  "regs:40 static_shared:0 dynamic_shared:0 grid:{},1,1 block:256,1,1 occ_pct:62.5",
                  which)}},
             {"tf_op", Reference{"XlaModule:"}},
             {"hlo_op", Reference{fmt::format("loop_fusion.{}", which)}},
             {"hlo_module", Reference{"jit_train_step"}},
             {"program_id", int64_t{15}}});
      }
    }

    host.line(static_cast<int64_t>(500 + device), fmt::format("Host Threads/{}", 500 + device),
              1000);

    for (size_t i = 0; i < pairs * kStreams; ++i) {
      host.event("cuLaunchKernel",
                 static_cast<int64_t>(i) * kPeriodPs / static_cast<int64_t>(kStreams), 1'900'000,
                 {{"device_id", uint64_t{device}},
                  {"correlation_id", ++correlation},
                  {"tf_op", Reference{"XlaModule:"}},
                  {"hlo_op", Reference{fmt::format("loop_fusion.{}", i % 200)}},
                  {"hlo_module", Reference{"jit_train_step"}}});
    }

    planes.push_back(gpu.message());
  }

  planes.push_back(host.message());
  return support::write_space(planes, "node");
}

/// Nested ranges without stats.
std::string make_host_profile(size_t bytes) {
  constexpr size_t kBytesAnEvent = 22, kThreads = 4, kNested = 4;
  PlaneWriter host("/host:CPU");

  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i)
    names.push_back(fmt::format("$module_{}.py:{} function_{}", i % 50, i, i));

  for (size_t thread = 0; thread < kThreads; ++thread) {
    host.line(static_cast<int64_t>(1000 + thread), "python", 1000);
    for (size_t i = 0; i < bytes / kBytesAnEvent / kThreads; ++i) {
      constexpr int64_t kPs = 4'000'000;
      auto const depth = static_cast<int64_t>(i % kNested);
      int64_t const begin = static_cast<int64_t>(i / kNested) * kPs + depth * 300'000;
      host.event(names[i * 7 % names.size()], begin, kPs - 2 * depth * 300'000 - 1'000);
    }
  }

  return support::write_space({host.message()}, "node");
}

/// Walks over every field that may be a message, as deep as events' stats are.
uint64_t walk(std::string_view message, int depth) {
  uint64_t fields = 0;
  base::ProtobufReader reader(message);
  base::ProtobufField field;
  while (reader.next(field)) {
    ++fields;
    if (depth > 0 && field.type == base::WireType::kBytes) fields += walk(field.bytes, depth - 1);
  }
  return fields;
}

void measure(char const* what, std::string_view text) {
  import::Input const input(std::as_bytes(std::span(text)), "bench.xplane.pb");
  auto const size = static_cast<double>(text.size());

  uint64_t sum = 0, fields = 0;
  uint32_t events = 0;
  Cost const adding = cost_of([&] {
    for (size_t at = 0; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      sum += word;
    }
  });

  constexpr int kStatsDepth = 4;
  Cost const walking = cost_of([&] { fields = walk(text, kStatsDepth); });

  Cost const reading = cost_of([&] {
    auto const trace = import::read_xplane(input);
    if (!trace) {
      fmt::print(stderr, "stepscope: {}\n", trace.error().message);
      std::exit(2);
    }
    events = trace->event_count();
  });

  fmt::print("{}: {:.0f} MB, {} events, {:.0f} bytes each ({:x})\n", what, size / kMega,
             base::format_count(events), size / events, sum & 0xFU);

  auto const line = [&](char const* name, Cost const& cost) {
    fmt::print("  {:<34} {:6.3f} s  {:7.0f} MB/s, {:6.3f} s of cores\n", name, cost.wall_s,
               size / cost.wall_s / kMega, cost.cpu_s);
  };

  line("add up the bytes, one core", adding);
  line(fmt::format("walk over {} M fields, one core", fields / 1'000'000).c_str(), walking);
  line("to a trace, all cores", reading);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    auto const mapped = base::MappedFile::open(argv[2]);
    if (!mapped) {
      fmt::print(stderr, "stepscope: {}\n", mapped.error().message);
      return 2;
    }

    auto const bytes = mapped->bytes();
    measure(argv[2], {reinterpret_cast<char const*>(bytes.data()), bytes.size()});
    return 0;
  }

  constexpr size_t kDefaultMb = 100;
  size_t const bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kDefaultMb) * 1'000'000;
  measure("GPU ops and launches", make_gpu_profile(bytes));
  measure("host ranges", make_host_profile(bytes));

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("most memory held, with the profile   {}\n",
             base::format_bytes(static_cast<uint64_t>(usage.ru_maxrss) << 10U));
  return 0;
}
