// A ring's file has what a file of everything has behind its begin: rows are kept, cut and written
// in every way and compared with rows that were simply collected.
#include "tracer/core/flight/ring_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trace/file/reader.h"
#include "trace/model/kinds.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using model::EventKind;

/// Track, name, kind, start, duration.
using Plain = std::tuple<uint32_t, std::string, EventKind, int64_t, int64_t>;

class RingFileTest : public ::testing::Test {
 protected:
  RingFileTest()
      : path((fs::path(::testing::TempDir()) / ("ring_file_" + std::to_string(::getpid())))
                 .string()) {
    fs::remove(path);

    for (uint32_t track = 0; track < kTracks; ++track) {
      model::Track one;
      one.kind = model::TrackKind::kThread;
      one.id = track;
      one.name = "thread";
      ring.tracks.push_back(one);
    }
  }
  ~RingFileTest() override { fs::remove(path); }

  static void add(model::EventBatch& rows, EventKind kind, int64_t start, int64_t dur,
                  uint32_t name) {
    model::StringId const id{name};
    if (kind == EventKind::kStep)
      rows.add(kind, start, dur, id, 0, model::StepDetail{start});
    else if (kind == EventKind::kMemory)
      rows.add(kind, start, dur, id, 0, model::MemoryDetail{});
    else
      rows.add(kind, start, dur, id);
  }
  [[nodiscard]] std::vector<Plain> written() {
    auto writer = file::TraceWriter::create(path);
    EXPECT_TRUE(writer);
    auto const events = write_ring(ring, *writer);
    EXPECT_TRUE(events);
    EXPECT_TRUE(writer->finish());

    auto const trace = file::read_trace_file(path);
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_EQ(trace->event_count(), *events);
    EXPECT_FALSE(trace->log().truncated);
    std::vector<Plain> rows;
    for (uint32_t row = 0; row < trace->event_count(); ++row)
      rows.emplace_back(trace->columns().track[row].value, std::string(trace->name(row)),
                        trace->kind(row), trace->start(row), trace->columns().dur[row]);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static constexpr uint32_t kTracks = 3;
  std::string path;
  RingFile ring;
};

/// What a row is in a file that begins there.
std::optional<Plain> cut(Plain row, int64_t begin) {
  auto& [track, name, kind, start, dur] = row;
  if (start >= begin) return row;
  bool const is_range = kind == EventKind::kRange || kind == EventKind::kPhase;
  if (!is_range || start + dur <= begin) return {};
  dur -= begin - start;
  start = begin;
  return row;
}

TEST_F(RingFileTest, HasTheRowsOfAWholeFileBehindItsBegin) {
  constexpr std::array kKinds = {EventKind::kRange, EventKind::kPhase, EventKind::kLaunch,
                                 EventKind::kStep, EventKind::kMemory};
  for (uint32_t seed = 0; seed < 30; ++seed) {
    fs::remove(path);
    std::mt19937 random(seed);
    auto const below = [&](int n) { return std::uniform_int_distribution(0, n - 1)(random); };
    RecentBlocks blocks(seed % 2 == 0 ? size_t{1} << 20 : 3000);
    file::TraceWriter encoder = file::TraceWriter::to(blocks);
    std::vector<std::string_view> const texts = {"a", "b", "c"};
    ASSERT_TRUE(encoder.write_strings(1, texts));

    std::vector<Plain> all;
    for (int64_t now = 0; now < 20'000; now += 200) {
      auto const track = static_cast<uint32_t>(below(kTracks));
      model::EventBatch rows;
      for (int i = below(20); i >= 0; --i) {
        auto const name = static_cast<uint32_t>(1 + below(3));
        EventKind const kind = kKinds[static_cast<size_t>(below(5))];
        int64_t const start = now - below(2000),
                      dur = now - start - below(static_cast<int>(now - start) + 1);
        add(rows, kind, start, dur, name);
        all.emplace_back(track, texts[name - 1], kind, start, dur);
      }
      ASSERT_TRUE(encoder.write_events(model::TrackId{track}, rows));
      if (below(4) == 0) blocks.keep_from(now - 5000);
    }

    ring.blocks = blocks.copy();
    ring.begin_ns = std::max<int64_t>(ring.blocks.complete_since_ns + 1, 20'000 - below(5000));
    std::vector<Plain> expected;
    for (Plain const& row : all)
      if (auto const kept = cut(row, ring.begin_ns)) expected.push_back(*kept);
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(written(), expected) << "seed " << seed;
  }
}

TEST_F(RingFileTest, BeginsWithWhatIsAllocated) {
  RecentBlocks blocks(size_t{1} << 20);
  file::TraceWriter encoder = file::TraceWriter::to(blocks);
  ASSERT_TRUE(encoder.write_strings(1, std::vector<std::string_view>{"cudaMalloc", "work"}));
  model::EventBatch rows;
  add(rows, EventKind::kRange, 150, 10, 2);
  ASSERT_TRUE(encoder.write_events(model::TrackId{1}, rows));

  ring.blocks = blocks.copy();
  ring.begin_ns = 100;
  ring.live = {{model::TrackId{0}, 5, 3, model::StringId{1}, 0, {}},
               {model::TrackId{1}, 50, 3, model::StringId{1}, 0, {}}};
  EXPECT_EQ(written(), (std::vector<Plain>{{0, "cudaMalloc", EventKind::kMemory, 100, 0},
                                           {1, "cudaMalloc", EventKind::kMemory, 100, 0},
                                           {1, "work", EventKind::kRange, 150, 10}}));
}

TEST_F(RingFileTest, HasWhatHasNotEndedButForStepsThatMayBeShort) {
  RecentBlocks blocks(size_t{1} << 20);
  file::TraceWriter encoder = file::TraceWriter::to(blocks);
  ASSERT_TRUE(encoder.write_strings(1, std::vector<std::string_view>{"outer", "step"}));
  ring.blocks = blocks.copy();
  ring.begin_ns = 100;

  RowBatch open;
  for (auto const& [kind, start] :
       {std::pair(EventKind::kRange, int64_t{10}), std::pair(EventKind::kStep, int64_t{120})}) {
    open.start.push_back(start);
    open.dur.push_back(200 - start);
    open.name.push_back(model::StringId{kind == EventKind::kStep ? 2U : 1U});
    open.kind.push_back(kind);
    open.correlation.push_back(0);
  }
  std::get<UnforkedColumn<model::StepDetail>>(open.details).push_back({7});
  ring.open.emplace_back(model::TrackId{2}, std::move(open));

  ring.least_open_step_ns = 81;
  EXPECT_EQ(written(), (std::vector<Plain>{{2, "outer", EventKind::kRange, 100, 100}}));
  fs::remove(path);
  ring.least_open_step_ns = 80;
  EXPECT_EQ(written(), (std::vector<Plain>{{2, "outer", EventKind::kRange, 100, 100},
                                           {2, "step", EventKind::kStep, 120, 80}}));
}

TEST_F(RingFileTest, WithoutRowsIsAFile) { EXPECT_EQ(written(), std::vector<Plain>()); }

}  // namespace
}  // namespace stepscope::tracer
