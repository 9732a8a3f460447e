// A ring of a program that makes up names: the ids of names are used again and again, and no name
// becomes another one's.
#include "tracer/core/flight/flight_recorder.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "trace/file/reader.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

class FlightRecorderTest : public ::testing::Test {
 protected:
  FlightRecorderTest() {
    folder = fs::path(::testing::TempDir()) / ("flight_" + std::to_string(::getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder);
    options.folder = folder.string();
    options.ring.emplace();
  }
  ~FlightRecorderTest() override { fs::remove_all(folder); }

  void begin() {
    flight.emplace(options, store);
    auto started = FileThread::begin([this] { return flight->writer(); });
    if (!started) throw std::runtime_error(started.error().message);
    keeper = std::move(*started);
    flight->begin(*keeper);
  }
  static std::string name_of(int64_t step, int64_t op) {
    constexpr size_t kLength = 300;  // so that few of them fill the memory for names
    std::string name = "op " + std::to_string(step) + "." + std::to_string(op);
    name.resize(kLength, ' ');
    return name;
  }
  /// Steps of ops that each have another name, inside of a range. Returns how often names began
  /// anew.
  int train() {
    model::TrackId const track = store.thread_track(7);
    TrackRows& rows = store.rows(track);
    TrackRows::Open const outer = rows.begin_range(0, store.intern("whole training"));
    int times_anew = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      int64_t const now = step * kStepNs;
      auto const open = rows.begin(model::EventKind::kStep, now, store.intern("step"), 0,
                                   model::StepDetail{step});
      store.row_begun(track, rows);
      for (int64_t i = 1; i <= kNamesAStep; ++i) {
        rows.end(rows.begin_range(now + i, store.intern(name_of(step, i))), now + i + 1);
        store.row_begun(track, rows);
      }
      rows.end(open, now + kStepNs - 1);

      if (step % 10 != 0) continue;
      if (store.has_many_names()) {
        store.begin_names_anew([](RowWatcher::Renamed const&) {});
        ++times_anew;
      }
      flight->look(now, 0);
      store.flush(now, false);
    }
    rows.end(outer, kSteps * kStepNs);
    return times_anew;
  }
  [[nodiscard]] model::Trace write_and_read(int64_t now_ns, uint64_t dropped = 0) {
    auto const written = flight->write_last("the test ended", now_ns, dropped);
    if (!written || !written->result.failure.empty()) throw std::runtime_error("not written");
    auto trace = file::read_trace_file(written->path);
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_FALSE(trace->log().truncated);
    EXPECT_EQ(trace->event_count(), written->result.written_rows);
    return std::move(*trace);
  }

  static constexpr int64_t kStepNs = 1'000'000, kSteps = 7'000, kNamesAStep = 100;
  fs::path folder;
  CaptureOptions options;
  TraceStore store;
  std::optional<FlightRecorder> flight;
  std::unique_ptr<FileThread> keeper;
};

TEST_F(FlightRecorderTest, HasTheNamesOfAProgramThatMakesThemUp) {
  options.ring->steps = 6'500;  // more than fit the spaces of names
  begin();
  EXPECT_GT(train(), 3) << "names have begun anew";

  model::Trace const trace = write_and_read(kSteps * kStepNs);
  std::map<std::string, int64_t> count;
  std::vector<int64_t> steps;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    ++count[std::string(trace.name(row))];
    if (trace.kind(row) == model::EventKind::kStep)
      steps.push_back(trace.detail<model::StepDetail>(row).index);
  }

  ASSERT_GT(steps.size(), 2000U);
  EXPECT_EQ(steps.back(), kSteps - 1);
  EXPECT_EQ(steps.back() - steps.front() + 1, static_cast<int64_t>(steps.size()));
  EXPECT_EQ(count["whole training"], 1);
  EXPECT_EQ(count["step"], static_cast<int64_t>(steps.size()));
  for (int64_t const step : steps)
    for (int64_t i = 1; i <= kNamesAStep; ++i) ASSERT_EQ(count[name_of(step, i)], 1) << step;
  EXPECT_EQ(count.size(), 2 + steps.size() * kNamesAStep) << "and no other name";
}

TEST_F(FlightRecorderTest, CountsTheLossesOfItsTimeAlone) {
  options.ring->ns = 1'000'000'000;
  begin();
  model::TrackId const track = store.thread_track(7);
  for (int64_t ms = 0; ms < 20'000; ms += 5) {
    int64_t const now = ms * 1'000'000;
    constexpr int64_t kEarlyMs = 5'000, kLateMs = 19'500;
    uint64_t const early = ms < kEarlyMs ? 0 : 100, late = ms < kLateMs ? 0 : 42;
    store.rows(track).add(model::EventKind::kRange, now, 1'000'000, store.intern("work"), 0);
    flight->look(now, early + late);
    store.flush(now, false);
  }

  model::Trace const trace = write_and_read(20'000'000'000, 142);
  EXPECT_EQ(trace.log().dropped, 42U);
  auto const [first, last] = trace.time_range();
  EXPECT_GE(last - first, 990'000'000);
  EXPECT_LE(last - first, 1'010'000'000);
}

}  // namespace
}  // namespace stepscope::tracer
