// What opening a large run costs: trace_open RUN (made with stepscope synth, say 64 ranks of 1.6 M
// events). All files from their ends alone; one step of one rank; a view of every track from its
// summary; the first file without its end. Medians of kRepeats, from the page cache. For
// comparison it times touching as many bytes.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/expect.h"
#include "bench/median.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file.h"
#include "trace/import/open/open_run.h"
#include "trace/model/summary/track_pyramid.h"

namespace {

using namespace stepscope;
using bench::expect;

constexpr int kRepeats = 9;

double median_ms(std::function<void()> const& work) {
  return 1e3 * bench::median_s(kRepeats, work);
}

void measure_opening(std::vector<std::string> const& files) {
  uint64_t events = 0;
  double const opening = median_ms([&] {
    events = 0;
    for (std::string const& path : files)
      events += expect(file::TraceFile::open(path)).event_count();
  });
  fmt::print("open {} files, {} events, from their ends   {:8.2f} ms\n", files.size(),
             base::format_count(events), opening);
}

void measure_one_step(std::string const& path) {
  uint32_t events = 0;
  double const step = median_ms([&] {
    auto const trace_file = expect(file::TraceFile::open(path));
    auto const steps = expect(trace_file.steps());
    file::StepSpan const& wanted = steps[steps.size() / 2];
    events = expect(trace_file.read({.window = {wanted.start, wanted.start + wanted.dur}}))
                 .event_count();
  });

  fmt::print("open one file and read one of its steps        {:8.2f} ms, {} events\n", step,
             events);
}

void measure_views(std::string const& path) {
  auto const trace_file = expect(file::TraceFile::open(path));
  auto const range = trace_file.time_range();
  uint64_t starts = 0;

  double const views = median_ms([&] {
    for (uint32_t track = 0; track < trace_file.tracks().size(); ++track) {
      model::TrackPyramid const pyramid(expect(trace_file.summary(model::TrackId{track})));
      for (model::ViewBin const& bin : pyramid.view(range.begin, range.end, 1920))
        starts += bin.starts;
    }
  });

  fmt::print("its {} tracks at 1,920 bins, from the summaries  {:8.2f} ms\n",
             trace_file.tracks().size(), views);
  if (trace_file.event_count() > file::events_that_fit()) return;

  double const all = median_ms([&] { starts += expect(trace_file.read()).event_count(); });
  fmt::print("all of its {} events as a trace       {:8.2f} ms, {:.1f} M events/s{}\n",
             base::format_count(trace_file.event_count()), all,
             static_cast<double>(trace_file.event_count()) / all / 1e3, starts == 0 ? " " : "");
}

/// A program that was killed leaves a file without an index.
void measure_recovery(std::string const& path) {
  auto const mapped = expect(base::MappedFile::open(path));
  base::ByteSpan const cut = mapped.bytes().first(mapped.bytes().size() - file::kEndSize);
  uint64_t events = 0;

  double const recovering =
      median_ms([&] { events = expect(file::TraceFile::open(cut, path)).event_count(); });

  uint64_t sum = 0;
  double const touching = median_ms([&] {
    for (size_t i = 0; i + 8 <= cut.size(); i += 64) sum += static_cast<uint64_t>(cut[i]);
  });

  fmt::print("find {} events of {} without its end  {:8.2f} ms; touching its bytes {:.2f} ms{}\n",
             base::format_count(events), base::format_bytes(cut.size()), recovering, touching,
             sum == 0 ? " " : "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} RUN\n", argv[0]);
    return 2;
  }

  auto const files = expect(import::files_of(argv[1]));
  for (std::string const& path : files)
    if (auto const added = file::add_summaries(path); !added)
      fmt::print(stderr, "stepscope: {}\n", added.error().message);

  measure_opening(files);
  measure_one_step(files.front());
  measure_views(files.front());
  measure_recovery(files.front());

  return 0;
}
