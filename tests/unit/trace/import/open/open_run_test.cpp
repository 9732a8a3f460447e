#include "trace/import/open/open_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flight_dumps.h"
#include "tests/support/packed.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenRun : public ::testing::Test {
 protected:
  OpenRun() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~OpenRun() override { std::filesystem::remove_all(folder_); }
  void write(char const* name, int32_t rank, int64_t origin_epoch_ns) const {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().origin_epoch_ns = origin_epoch_ns;
    builder.events(builder.add_track({})).add(model::EventKind::kRange, 0, 1, builder.intern("x"));
    ASSERT_TRUE(file::write_trace(std::move(builder).finish(), (folder_ / name).string()));
  }
  /// A process on `host` whose clock is `ahead_ns` ahead and `fast` per ns too fast, with 40
  /// collectives, 25 ms apart, that end `late_ns` after those of others. Begins 1 ms after the run.
  void write_rank(int32_t rank, std::string const& host, int64_t ahead_ns, double fast,
                  int64_t late_ns = 0) const {
    constexpr int64_t kEpoch = 1'700'000'000'000'000'000, kBegin = 1'000'000;
    auto const by_clock = [&](int64_t truth) {
      return truth + ahead_ns + std::llround(fast * static_cast<double>(truth));
    };

    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().world_size = 3;
    builder.info().host = host;
    builder.info().origin_epoch_ns = kEpoch + by_clock(kBegin);

    auto const at = [&](int64_t truth) { return by_clock(truth) - by_clock(kBegin); };
    model::TrackId const stream = builder.add_track(
        {model::TrackKind::kStream, "7", 7, 0, model::StreamKind::kCommunication, 0});

    for (uint64_t i = 1; i <= 40; ++i) {
      auto const end = static_cast<int64_t>(i) * 25'000'000 + late_ns;
      int64_t const begin = end - 100'000 * (1 + (rank + static_cast<int32_t>(i)) % 3);
      builder.events(stream).add(model::EventKind::kCollective, at(begin), at(end) - at(begin),
                                 builder.intern("allreduce"), 0,
                                 model::CollectiveDetail{.bytes = 64,
                                                         .communicator = 5,
                                                         .sequence = i,
                                                         .op = model::CollectiveOp::kAllReduce,
                                                         .participants = 3,
                                                         .rank = rank});
    }

    ASSERT_TRUE(file::write_trace(std::move(builder).finish(),
                                  (folder_ / fmt::format("rank-{}.stepscope", rank)).string()));
  }
  /// How far apart, in run time, the n-th collective ends on the ranks.
  static int64_t spread(model::Run const& run, uint32_t n) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (model::RankTrace const& rank : run.ranks) {
      int64_t const end =
          rank.trace.end(rank.trace.rows_of(model::TrackId{0}).first + n) + rank.offset_ns;
      first = std::min(first, end);
      last = std::max(last, end);
    }
    return last - first;
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_open_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(OpenRun, AFolderBecomesOneRunInRankOrderOnOneTimeAxis) {
  write("b.stepscope", 0, 5'000);
  write("a.stepscope", 1, 2'000);
  auto const run = open_run(folder_.string() + "/");
  ASSERT_TRUE(run) << run.error().message;

  ASSERT_EQ(run->ranks.size(), 2U);
  EXPECT_EQ(run->ranks[0].trace.info().rank, 0);
  EXPECT_EQ(run->ranks[0].offset_ns, 3'000);
  EXPECT_EQ(run->ranks[1].offset_ns, 0);

  EXPECT_EQ(run->clock.method, "epoch");
  EXPECT_EQ(run->name, folder_.filename().string());
}

TEST_F(OpenRun, TracesThatWouldFillTheMemoryArePackedAndHoldTheSame) {
  for (int rank = 0; rank < 3; ++rank) {
    std::ofstream out(folder_ / fmt::format("rank-{}.json", rank));
    out << R"json({"traceEvents": [)json";
    for (int i = 0; i < 50; ++i)
      out << fmt::format(
          R"json({{"ph": "X", "name": "step {0}", "pid": 1, "tid": {1}, "ts": {0}00, "dur": 50}},)json",
          i, rank);
    out << R"json({"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 6000, "s": "t"}]})json";
  }

  std::vector<std::string> const paths = {folder_.string()};
  auto const in_memory = [&](MemoryLimit limit) {
    auto const sources = open_sources(paths, limit);
    EXPECT_TRUE(sources);
    return std::count_if(sources->ranks.begin(), sources->ranks.end(),
                         [](RankSource const& rank) { return rank.source.is_in_memory(); });
  };

  EXPECT_EQ(in_memory({}), 3);
  EXPECT_EQ(in_memory({.files = 3, .events = 0}), 3);
  EXPECT_EQ(in_memory({.files = 2, .events = 153}), 3);
  EXPECT_EQ(in_memory({.files = 2, .events = 152}), 0);

  auto const plain = open_run(paths);
  auto const packed = load_run(std::move(*open_sources(paths, {0, 0})));
  ASSERT_TRUE(plain && packed);
  EXPECT_EQ(packed->notes, plain->notes);

  for (size_t r = 0; r < 3; ++r) {
    model::Trace const &a = plain->ranks[r].trace, &b = packed->ranks[r].trace;
    EXPECT_EQ(b.info().rank, a.info().rank);
    EXPECT_EQ(packed->ranks[r].offset_ns, plain->ranks[r].offset_ns);
    ASSERT_EQ(b.event_count(), a.event_count());

    for (uint32_t row = 0; row < a.event_count(); ++row) {
      EXPECT_EQ(b.start(row), a.start(row));
      EXPECT_EQ(b.end(row), a.end(row));
      EXPECT_EQ(b.kind(row), a.kind(row));
      EXPECT_EQ(b.name(row), a.name(row));
    }
  }
}

TEST_F(OpenRun, AnUnreadableFileBesideAReadableOneIsToldAndLeftOut) {
  write("a.stepscope", 0, 1);
  std::ofstream(folder_ / "b.stepscope") << "garbage";
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks.size(), 1U);
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_NE(run->notes[0].find("b.stepscope"), std::string::npos);
}

TEST_F(OpenRun, OtherFilesOfTheFolderAreNotTried) {
  write("a.stepscope", 0, 1);
  std::ofstream(folder_ / "report.html") << "<html>";
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->notes.empty());
}

TEST_F(OpenRun, WhatIsDamagedIsToldThoughNobodyKnowsWhatItWas) {
  write("a.stepscope", 0, 1);
  std::string const trace =
      R"json({"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})json";
  std::string hello;
  for (int i = 0; i < 100; ++i) hello += "hello";

  std::vector<std::pair<std::string, std::string>> const damaged = {
      {"cut.json.gz", support::packed_by_gzip(trace).substr(0, 12)},
      {"cut.json.zst", support::packed_by_zstd(trace).substr(0, 9)},
      {"zeros.json", std::string(1000, '\0')},
      {"zeros.json.gz", std::string(1000, '\0')},
      {"cut.json", R"json({"schemaVersion": 1, "devi)json"},
      {"broken.sqlite", hello},
      {"broken.pb", hello},
      {"broken.pkl", hello},
      {"cut.pickle", "\x80\x04}\x94("},
      {"nccl_trace_rank_3", hello},
      {"rank-7.json", "{\"step\": 1, \"los"},
      {"trace.json", std::string(1000, '\0')},
      {"begin.json", R"json({"traceNa)json"}};

  for (auto const& [name, bytes] : damaged)
    std::ofstream(folder_ / name, std::ios::binary) << bytes;

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->ranks.size(), 1U);
  EXPECT_EQ(run->notes.size(), damaged.size());

  for (auto const& [name, bytes] : damaged)
    EXPECT_THAT(run->notes, Contains(HasSubstr("/" + name + ": ")));
}

TEST_F(OpenRun, IntactFilesOfOtherKindsAreLeftOutSilently) {
  write("a.stepscope", 0, 1);

  std::vector<std::pair<std::string, std::string>> const others = {
      {"config.json", "{\"lr\": [0.1, {}], \"name\": \"}\"}\n"},
      {"settings.json.gz", support::packed_by_gzip("{\"a\": 1}")},
      {"metrics.jsonl", "{\"loss\": 2}\n{\"loss\": 1}\n"},
      {"train_rank3.log", "[rank3]: step 1\n"},
      {"rank3.json", "{\"loss\": 1.5}"},
      {"traceroute.json", "[]"},
      {"rank_3_trace.json", "no trace was recorded\n"},
      {"traced_shapes.json.gz", support::packed_by_gzip("[[1, 2]]")},
      {"commented.json", "{\n  // warm-up\n  \"lr\": 0.1,\n}\n"},
      {"rank0.pkl", "\x80\x04K\x01."},
      {"page.pb", "\x0A\x03\x61\x62\x63"},
      {"truth.json", "{\"schema\": 1, \"steps\": ["},
      {"weights.pkl", "\x80\x04K\x01."}};

  for (auto const& [name, bytes] : others) std::ofstream(folder_ / name, std::ios::binary) << bytes;
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->notes, ::testing::IsEmpty());
}

TEST_F(OpenRun, WhatIsNamedAndIsNoTraceIsAnErrorWhateverItIs) {
  for (auto const& [name, text] : {std::pair("rank3.json", "{\"loss\": 1.5}"),
                                   {"config.json", "{}"},
                                   {"notes.txt", "hello"}}) {
    std::ofstream(folder_ / name) << text;
    auto const run = open_run((folder_ / name).string());
    ASSERT_FALSE(run) << name;
    EXPECT_THAT(run.error().message, HasSubstr(name));
  }
}

TEST_F(OpenRun, TwoWindowsOfOneRankAreToldButNotADumpOfItsCollectives) {
  std::string const kineto =
      R"json({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
      {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"device": 0, "stream": 7}}]})json";
  auto entry = support::flight_entry(0, "all_reduce", 1, 1'700'000'000'000'000'000);
  entry["duration_ms"] = 2.5;
  entry["time_discovered_started_ns"] = 1'700'000'000'090'000'000;

  std::ofstream(folder_ / "a.json") << kineto;
  std::ofstream(folder_ / "nccl_trace_rank_0") << support::flight_dump({entry}, "[0]").dump();

  auto const notes = [&] {
    auto const run = open_run(folder_.string());
    return run ? run->notes : std::vector<std::string>{run.error().message};
  };

  EXPECT_THAT(notes(), Not(Contains(HasSubstr("both say"))));

  std::ofstream(folder_ / "b.json") << kineto;
  EXPECT_THAT(notes(), Contains(HasSubstr("both say that they are rank 0")).Times(1));

  for (char const* const name : {"c.json", "d.json", "e.json"})
    std::ofstream(folder_ / name) << kineto;
  EXPECT_THAT(notes(),
              Contains(HasSubstr("b.json and 3 more all say that they are rank 0")).Times(1));
  EXPECT_THAT(notes(), Contains(HasSubstr("say that they are rank 0")).Times(1))
      << "one note, not one a file";
}

TEST_F(OpenRun, NothingReadableIsAnErrorThatNamesTheFile) {
  std::ofstream(folder_ / "b.stepscope") << "garbage";
  auto const run = open_run(folder_.string());
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("b.stepscope"), std::string::npos);
  EXPECT_FALSE(open_run((folder_ / "missing").string()));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_FALSE(open_run((folder_ / "empty").string()));
}

TEST_F(OpenRun, ARankWithoutItsStartTimeIsToldWhenRanksAreCompared) {
  write("a.stepscope", 0, 0);
  write("b.stepscope", 1, 7);
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->notes.size(), 1U);
}

TEST_F(OpenRun, TracesThatDoNotSayTheirRankTakeThoseThatAreFree) {
  std::ofstream(folder_ / "a.json")
      << R"json({"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})json";
  write("b.stepscope", 0, 7);
  write("c.stepscope", -1, 9);

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  ASSERT_EQ(run->ranks.size(), 3U);

  for (int32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(run->ranks[static_cast<size_t>(rank)].trace.info().rank, rank);
  EXPECT_NE(run->ranks[1].file.find("a.json"), std::string::npos);
  EXPECT_NE(run->ranks[2].file.find("c.stepscope"), std::string::npos);

  EXPECT_EQ(run->notes.size(), 3U)
      << "two guessed ranks, and a trace that does not say when it began";
}

TEST(FreeRanks, AreThoseThatNobodySaysInAscendingOrder) {
  EXPECT_THAT(free_ranks({}, 3), ::testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(free_ranks({0, 2, 9}, 3), ::testing::ElementsAre(1, 3, 4));
  EXPECT_THAT(free_ranks({1}, 0), ::testing::IsEmpty());
}

TEST(FreeRanks, AreToldOnceAFile) {
  std::vector<NumberedProcess> const numbered = {
      {"b.json", 4}, {"a.sqlite", 0}, {"a.sqlite", 2}, {"a.sqlite", 1}};

  EXPECT_THAT(notes_of_free_ranks(numbered),
              ::testing::ElementsAre(
                  ::testing::StartsWith(
                      "b.json: does not say which rank it is; taken as rank 4 by its place"),
                  "a.sqlite: does not say which ranks its 3 processes are; taken as free ranks "
                  "from 0 to 2 by "
                  "their order"));
  EXPECT_THAT(notes_of_free_ranks({}), ::testing::IsEmpty());
}

TEST_F(OpenRun, ASingleTraceWithoutRankIsRankZeroAndNothingIsSaid) {
  std::ofstream(folder_ / "a.json")
      << R"json({"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})json";
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks[0].trace.info().rank, 0);
  EXPECT_TRUE(run->notes.empty());
}

TEST_F(OpenRun, ClocksOfSeveralHostsAreFittedToTheEndsOfCollectives) {
  write_rank(0, "a", 0, 0);
  write_rank(1, "b", 7'000'000, 50e-6, 900);
  write_rank(2, "c", -30'000, 0, 400);

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->clock.method, "collective ends");
  EXPECT_EQ(run->clock.collectives, 40U);
  EXPECT_LE(run->clock.residual_p95_ns.value_or(INT64_MAX), 10);

  EXPECT_EQ(run->ranks[0].drift, 0);
  EXPECT_NEAR(run->ranks[1].drift, -50e-6, 1e-7);
  for (uint32_t const n : {0U, 20U, 39U}) EXPECT_LE(spread(*run, n), 20) << "of 7 ms";
  EXPECT_EQ(std::min({run->ranks[0].offset_ns, run->ranks[1].offset_ns, run->ranks[2].offset_ns}),
            0);
}

TEST_F(OpenRun, AFileThatIsReadInPartsHasTheSameCorrectedTimes) {
  write_rank(0, "a", 0, 0);
  write_rank(1, "b", 7'000'000, 50e-6);
  auto const run = open_run(folder_.string());
  std::string const folder = folder_.string();
  auto const sources = open_sources(std::span(&folder, 1));
  ASSERT_TRUE(run && sources);

  TraceSource const& source = sources->ranks[1].source;
  model::Trace const& whole = run->ranks[1].trace;
  EXPECT_EQ(source.time_range().begin, whole.time_range().first);
  EXPECT_EQ(source.time_range().end, whole.time_range().second);

  auto const part = source.read({.window = {whole.start(10), whole.end(12)}});
  ASSERT_TRUE(part);
  ASSERT_EQ((*part)->event_count(), 3U);
  for (uint32_t row = 0; row < 3; ++row) {
    EXPECT_EQ((*part)->start(row), whole.start(10 + row));
    EXPECT_EQ((*part)->end(row), whole.end(10 + row));
  }
}

TEST_F(OpenRun, ProcessesOfOneHostShareItsClock) {
  write_rank(0, "a", 0, 0);
  write_rank(1, "a", 0, 0, 50'000);
  write_rank(2, "a", 0, 0, 20'000);
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->clock.method, "epoch");
  EXPECT_EQ(spread(*run, 5), 50'000) << "that it ends later there is no fault of the clock";
  EXPECT_FALSE(run->clock.residual_median_ns);
}

TEST_F(OpenRun, WhatSharesNoCollectiveKeepsItsClockAndIsTold) {
  write_rank(0, "a", 0, 0);
  write_rank(1, "b", 9'000'000, 0);
  write("c.stepscope", 2, 1'700'000'000'000'000'000);
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_NE(run->notes[0].find("c.stepscope"), std::string::npos);
  EXPECT_EQ(run->ranks[0].offset_ns - run->ranks[2].offset_ns, 1'000'000);
}

TEST_F(OpenRun, ARankWithoutItsStartTimeIsComparableByItsCollectives) {
  write_rank(0, "a", 0, 0);
  write_rank(1, "b", 0, 0);
  auto trace = file::read_trace_file((folder_ / "rank-1.stepscope").string());
  ASSERT_TRUE(trace);

  model::TraceBuilder builder;
  builder.info() = trace->info();
  builder.info().origin_epoch_ns = 0;
  model::TrackId const stream = builder.add_track(trace->tracks()[0]);
  for (uint32_t row = 0; row < trace->event_count(); ++row)
    builder.events(stream).add(model::EventKind::kCollective, trace->start(row),
                               trace->columns().dur[row], builder.intern("x"), 0,
                               trace->detail<model::CollectiveDetail>(row));

  std::filesystem::remove(folder_ / "rank-1.stepscope");
  ASSERT_TRUE(
      file::write_trace(std::move(builder).finish(), (folder_ / "rank-1.stepscope").string()));

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->notes.empty());
  EXPECT_EQ(spread(*run, 3), 0);
}

}  // namespace
}  // namespace stepscope::import
