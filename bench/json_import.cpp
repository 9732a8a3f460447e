// How fast JSON traces are read: json_import TRACE.json[.gz|.zst] (bench/repeat_trace.py makes large ones). Medians of kRepeats,
// from the page cache; beside them what it takes to touch as many bytes of text on one core, and to unpack them.
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

#include "trace/base/format.h"
#include "trace/base/mapped_file.h"
#include "trace/import/chrome/chrome_importer.h"

namespace {

using namespace stepscope;

constexpr int kRepeats = 5;

double median_s(std::function<void()> const& work) {
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} TRACE.json[.gz|.zst]\n", argv[0]);
    return 2;
  }
  auto const mapped = base::MappedFile::open(argv[1]);
  if (!mapped) {
    fmt::print(stderr, "stepscope: {}\n", mapped.error().message);
    return 2;
  }
  import::Input const input(mapped->bytes(), argv[1]);
  constexpr double kGb = 1e9;
  uint64_t bytes = 0, sum = 0;
  double const unpacking = median_s([&] {
    std::vector<char> buffer(size_t{1} << 22U);
    auto const stream = input.stream();
    bytes = 0;
    while (size_t const got = stream->read(buffer)) {
      for (size_t at = 0; at + sizeof(uint64_t) <= got; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, buffer.data() + at, sizeof word);
        sum += word;
      }
      bytes += got;
    }
  });
  uint32_t events = 0;
  double const reading = median_s([&] {
    auto const trace = import::read_chrome_trace(input);
    if (!trace) {
      fmt::print(stderr, "stepscope: {}\n", trace.error().message);
      std::exit(2);
    }
    events = trace->event_count();
  });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto const size = static_cast<double>(bytes);
  fmt::print("{} of text, {} events ({:x})\n", base::format_bytes(bytes), base::format_count(events), sum & 0xFU);
  fmt::print("unpack or copy, and add up    {:6.3f} s  {:6.2f} GB/s, one core\n", unpacking, size / unpacking / kGb);
  fmt::print("to a trace                    {:6.3f} s  {:6.2f} GB/s, {:.2f} M events/s\n", reading, size / reading / kGb,
             events / reading / 1e6);
  fmt::print("most memory held, with the file's pages   {}\n", base::format_bytes(static_cast<uint64_t>(usage.ru_maxrss) << 10U));
  return 0;
}
