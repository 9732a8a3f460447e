// What is known of a process before its events are read is what they say, from a file and in
// memory.
#include "trace/import/open/trace_source.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/packed.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;

class TraceSourceTest : public testing::Test {
 protected:
  TraceSourceTest() {
    fs::create_directories(folder_);
    for (size_t r = 0; r < run_.ranks.size(); ++r)
      EXPECT_TRUE(file::write_trace(
          run_.ranks[r].trace, (folder_ / ("rank-" + std::to_string(r) + ".stepscope")).string()));
  }
  ~TraceSourceTest() override { fs::remove_all(folder_); }

  static model::Run made() {
    return support::make_synthetic_run({.devices = 2, .steps = 4, .process_per_device = true});
  }
  fs::path const folder_ =
      fs::path(testing::TempDir()) / ("trace_source_" + std::to_string(::getpid()));
  model::Run const run_ = made();
};

void expect_tells(TraceSource const& source, model::Trace const& trace) {
  EXPECT_EQ(source.info().rank, trace.info().rank);
  EXPECT_EQ(source.devices().size(), trace.devices().size());
  ASSERT_EQ(source.tracks().size(), trace.tracks().size());
  for (uint32_t track = 0; track < trace.tracks().size(); ++track)
    EXPECT_EQ(source.event_counts()[track], trace.rows_of(model::TrackId{track}).size());
  EXPECT_EQ(source.time_range(),
            (model::Interval{trace.time_range().first, trace.time_range().second}));
  EXPECT_EQ(source.log().dropped, trace.log().dropped);
  EXPECT_EQ(source.steps()->size(), 4U);
}

TEST_F(TraceSourceTest, TellsOfAFileWhatItsTraceSays) {
  std::string const path = folder_.string();
  auto sources = open_sources(std::span(&path, 1));
  ASSERT_TRUE(sources) << sources.error().message;
  ASSERT_EQ(sources->ranks.size(), 2U);

  model::Interval range{INT64_MAX, INT64_MIN};
  for (size_t r = 0; r < 2; ++r) {
    model::Trace const& trace = run_.ranks[r].trace;
    expect_tells(sources->ranks[r].source, trace);
    int64_t const offset = sources->ranks[r].offset_ns;
    range = {std::min(range.begin, trace.time_range().first + offset),
             std::max(range.end, trace.time_range().second + offset)};

    auto const loaded = std::move(sources->ranks[r].source).load();
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->columns().start, trace.columns().start);
  }

  EXPECT_EQ(time_range(*open_sources(std::span(&path, 1))), range);
}

TEST_F(TraceSourceTest, OfAPackedFileOfWhichNothingCanBeReadTheDamageIsTold) {
  std::string const trace =
      R"json({"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})json";
  std::string broken = support::packed_by_gzip(trace);
  broken[10] = '\x07';  // a kind of block that is not there

  for (auto const& [bytes, damage] : {std::pair<std::string, char const*>{
                                          support::packed_by_gzip(trace).substr(0, 12), "cut off"},
                                      {support::packed_by_zstd(trace).substr(0, 9), "cut off"},
                                      {broken, "are damaged"}}) {
    std::string const path = (folder_ / "head.json.gz").string();
    std::ofstream(path, std::ios::binary) << bytes;
    auto const sources = TraceSource::open(path);
    ASSERT_FALSE(sources);
    EXPECT_THAT(sources.error().message, testing::HasSubstr(damage));
  }
}

TEST_F(TraceSourceTest, TellsTheSameOfATraceInMemory) {
  TraceSource source(std::move(made().ranks[1].trace));
  expect_tells(source, run_.ranks[1].trace);
  EXPECT_EQ((*source.read({}))->event_count(), run_.ranks[1].trace.event_count());
  EXPECT_EQ(std::move(source).load()->event_count(), run_.ranks[1].trace.event_count());
}

}  // namespace
}  // namespace stepscope::import
