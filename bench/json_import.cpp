// How fast JSON traces are read: json_import TRACE.json[.gz|.zst] (bench/repeat_trace.py makes
// large ones), or a folder of the ranks of a run. Medians of kRepeats, from the page cache.
// For comparison it times touching as many bytes of text on one core and unpacking them, or reading
// the files one after the other.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "bench/expect.h"
#include "bench/median.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/open/open_run.h"

namespace {

using namespace stepscope;
using bench::expect;

constexpr int kRepeats = 5;

double median_s(std::function<void()> const& work) { return bench::median_s(kRepeats, work); }

constexpr double kGb = 1e9;

void measure_file(std::string const& path) {
  auto const mapped = expect(base::MappedFile::open(path));
  import::Input const input(mapped.bytes(), path);
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
  double const reading =
      median_s([&] { events = expect(import::read_chrome_trace(input)).event_count(); });

  auto const size = static_cast<double>(bytes);
  fmt::print("{} of text, {} events ({:x})\n", base::format_bytes(bytes),
             base::format_count(events), sum & 0xFU);
  fmt::print("unpack or copy, and add up    {:6.3f} s  {:6.2f} GB/s, one core\n", unpacking,
             size / unpacking / kGb);
  fmt::print("to a trace                    {:6.3f} s  {:6.2f} GB/s, {:.2f} M events/s\n", reading,
             size / reading / kGb, events / reading / 1e6);
}

/// All files of a folder as one run, against each after the other.
void measure_folder(std::string const& folder) {
  std::vector<std::string> const files = expect(import::files_of(folder));
  uintmax_t bytes = 0;
  for (std::string const& file : files) bytes += std::filesystem::file_size(file);

  double const single = median_s([&] {
    for (std::string const& file : files) expect(import::TraceSource::open(file));
  });
  double const together = median_s([&] { expect(import::open_sources(files)); });

  auto const size = static_cast<double>(bytes);
  fmt::print("{} files, {}\n", files.size(), base::format_bytes(bytes));
  fmt::print("each alone                    {:6.3f} s  {:6.2f} GB/s\n", single,
             size / single / kGb);
  fmt::print("as one run                    {:6.3f} s  {:6.2f} GB/s  {:.2f} x\n", together,
             size / together / kGb, single / together);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} TRACE.json[.gz|.zst]|FOLDER\n", argv[0]);
    return 2;
  }

  std::filesystem::is_directory(argv[1]) ? measure_folder(argv[1]) : measure_file(argv[1]);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("most memory held, with the file's pages   {}\n",
             base::format_bytes(static_cast<uint64_t>(usage.ru_maxrss) << 10U));

  return 0;
}
