// The analysis says the same bytes whether a run is in memory, read process by process, or shared
// by a team of programs. So it does of any damaged files.
#include "run_loading/analyzed_files.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/analyze.h"
#include "reports/json/json.h"
#include "run_loading/team/helper.h"
#include "run_loading/team/questions.h"
#include "tests/support/fake_mpi.h"
#include "tests/support/flight_dumps.h"
#include "tests/support/kineto_mutants.h"
#include "tests/support/nsys_export.h"
#include "tests/support/random_ranks.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"
#include "trace/model/build/row_copy.h"

namespace stepscope::run_loading {
namespace {

using support::Random;

/// Everything that a command prints of an analysis.
std::string printed(base::Expected<AnalyzedRun> const& analyzed) {
  if (!analyzed) return "error: " + analyzed.error().message;
  std::string text = reports::analysis_json(analyzed->run, analyzed->analysis);
  for (std::string const& note : analyzed->run.notes) text += note + "\n";
  for (model::RankTrace const& rank : analyzed->run.ranks)
    for (std::string const& note : rank.trace.log().notes) text += rank.file + ": " + note + "\n";
  return text;
}

/// The same of a team: programs are played by threads.
std::string printed_by_team(uint32_t programs, std::vector<std::string> const& paths,
                            analyzer::AnalyzeOptions const& options) {
  std::string text;
  mpi::testing::as_processes(
      programs, std::chrono::seconds(60), [&](std::shared_ptr<mpi::Processes> const& processes) {
        if (processes->rank() > 0) {
          EXPECT_TRUE(help(*processes));
          return;
        }

        Team team(processes, 1);
        text = printed(analyze_files(paths, options, Reading::kBySize, false, &team));
      });
  return text;
}

/// From the first line that differs.
std::string difference(std::string_view a, std::string_view b) {
  size_t at =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  at -= std::min<size_t>(at, 60);
  return fmt::format("in memory …{}…\notherwise  …{}…", a.substr(at, 160), b.substr(at, 160));
}

class AnalyzedFilesTest : public ::testing::Test {
 protected:
  AnalyzedFilesTest() { std::filesystem::create_directories(folder_); }
  ~AnalyzedFilesTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  void write(std::string const& name, std::string const& bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] std::string read(std::string const& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// All that is in the folder, as one run; then the folder is empty.
  void expect_same(analyzer::AnalyzeOptions const& options = {}) {
    std::vector<std::string> const paths = {folder_.string()};
    std::string const in_memory = printed(analyze_files(paths, options, Reading::kBySize));
    std::string const streamed = printed(analyze_files(paths, options, Reading::kByProcess));
    EXPECT_EQ(in_memory == streamed, true) << difference(in_memory, streamed);

    uint32_t const programs = 2 + static_cast<uint32_t>(all_ % 3);
    std::string const by_team = printed_by_team(programs, paths, options);
    EXPECT_EQ(in_memory == by_team, true) << programs << difference(in_memory, by_team);
    // Otherwise mutants that are all refused would pass for mutants that are analyzed alike.
    analyzed_ += in_memory.starts_with("error") ? 0 : 1;
    ++all_;
    for (auto const& file : std::filesystem::directory_iterator(folder_))
      std::filesystem::remove(file);
  }
  [[nodiscard]] double analyzed_share() const { return static_cast<double>(analyzed_) / all_; }

 private:
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("analyzed_files_" + std::to_string(::getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  int analyzed_ = 0, all_ = 0;
};

/// The whole, some steps, or one rank.
analyzer::AnalyzeOptions any_options(Random& random) {
  analyzer::AnalyzeOptions options;
  if (random() % 5 == 0) options.steps = {1, static_cast<int64_t>(random() % 4)};
  if (random() % 8 == 0) options.rank = static_cast<int32_t>(random() % 2);
  return options;
}

TEST_F(AnalyzedFilesTest, DamagedKinetoFilesSayTheSame) {
  Random random(1);
  for (int mutant = 0; mutant < 90; ++mutant) {
    SCOPED_TRACE(mutant);
    int const files = 1 + static_cast<int>(random() % 3);
    for (int rank = 0; rank < files; ++rank) {
      bool const is_known_late = random() % 4 == 0;
      nlohmann::json file = support::kineto_job({.processes = 1 + static_cast<int>(random() % 2),
                                                 .rank = is_known_late ? -1 : rank,
                                                 .ranks = std::max(files, 2)});
      support::damage_events(file, random);
      std::string bytes = file.dump();
      if (random() % 4 == 0) support::damage_bytes(bytes, random);
      write(fmt::format("worker{}.json", rank), bytes);
    }

    expect_same(any_options(random));
  }

  EXPECT_GT(analyzed_share(), 0.8);
}

/// Writes what the index says of kinds anew: some are not named.
void hide_kinds(std::string const& path, Random& random) {
  std::vector<file::IndexEntry> blocks;
  {
    auto const file = file::TraceFile::open(path);
    ASSERT_TRUE(file);
    blocks.assign(file->blocks().begin(), file->blocks().end());
  }

  for (file::IndexEntry& block : blocks)
    if (random() % 3 == 0) block.header.kinds &= random();

  auto writer = file::TraceWriter::append_to(path, blocks);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
}

TEST_F(AnalyzedFilesTest, DamagedFilesOfOurOwnFormatSayTheSame) {
  Random random(2);
  support::SyntheticOptions job;
  job.devices = 3;
  job.steps = 3;
  job.process_per_device = true;

  for (int mutant = 0; mutant < 60; ++mutant) {
    SCOPED_TRACE(mutant);
    job.marks = static_cast<support::StepMarks>(random() % 5);
    job.sync_every_op = random() % 2 == 0;

    auto const run = support::make_synthetic_run(job);
    for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
      std::string const name = fmt::format("rank-{}.stepscope", rank);
      ASSERT_TRUE(file::write_trace(run.ranks[rank].trace, path(name)));
      if (random() % 2 == 0) hide_kinds(path(name), random);
      std::string bytes = read(name);
      if (random() % 3 == 0) support::damage_bytes(bytes, random);
      write(name, bytes);
    }
    expect_same(any_options(random));
  }

  EXPECT_GT(analyzed_share(), 0.8);
}

TEST_F(AnalyzedFilesTest, AnyEventsOnAnyTracksSayTheSame) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    auto const run = support::random_ranks(
        {.seed = seed, .ranks = 2, .tracks = 2 + static_cast<int>(random() % 8)});

    for (size_t rank = 0; rank < run.ranks.size(); ++rank)
      ASSERT_TRUE(
          file::write_trace(run.ranks[rank].trace, path(fmt::format("rank-{}.stepscope", rank))));
    expect_same(any_options(random));
  }

  EXPECT_EQ(analyzed_share(), 1);
}

/// Steps that are ranges with their names; their marks, if any, lie where nothing looks for them:
/// on a stream.
model::Trace steps_by_name(int32_t rank, bool has_marks_on_stream, Random& random) {
  model::TraceBuilder builder;
  builder.info().rank = rank;
  auto const stream =
      builder.add_track({.kind = model::TrackKind::kStream, .name = "stream", .device = 0});
  auto const thread = builder.add_track({.kind = model::TrackKind::kThread, .name = "main"});

  for (int64_t step = 0; step < 4; ++step) {
    auto const name = builder.intern(fmt::format("step {}", step));
    auto const correlation = static_cast<uint64_t>(step + 1);
    auto const add = [&](model::TrackId track, model::EventKind kind, int64_t begin, int64_t dur,
                         uint64_t id = 0) {
      file::add_random(builder.events(track), kind, step * 1000 + begin, dur, name, id, random);
    };

    if (has_marks_on_stream) add(stream, model::EventKind::kStep, 0, 900);
    add(thread, model::EventKind::kRange, 0, 900);
    add(thread, model::EventKind::kLaunch, 10, 20, correlation);
    add(stream, model::EventKind::kKernel, 50, 700, correlation);
  }
  return std::move(builder).finish();
}

TEST_F(AnalyzedFilesTest, StepsThatAreMarkedWhereNothingLooksForThemSayTheSame) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    for (int32_t rank = 0; rank < 2; ++rank)
      ASSERT_TRUE(file::write_trace(steps_by_name(rank, rank == 0, random),
                                    path(fmt::format("rank-{}.stepscope", rank))));
    expect_same(any_options(random));
  }
  EXPECT_EQ(analyzed_share(), 1);
}

/// Such a trace cannot be packed. It must not make one program hold the run.
TEST_F(AnalyzedFilesTest, ATraceWithoutEventsDoesNotKeepTheOthersInMemory) {
  support::SyntheticOptions job{.devices = 2, .steps = 4};
  job.process_per_device = true;
  auto const run = support::make_synthetic_run(job);
  for (size_t rank = 0; rank < 2; ++rank)
    ASSERT_TRUE(
        file::write_trace(run.ranks[rank].trace, path(fmt::format("rank-{}.stepscope", rank))));
  write("rank-2.json", R"({"traceEvents": [], "distributedInfo": {"rank": 2, "world_size": 3}})");

  auto const streamed = analyze_files({path("")}, {}, Reading::kByProcess);
  ASSERT_TRUE(streamed);
  EXPECT_TRUE(streamed->read);
  EXPECT_EQ(streamed->run.ranks.size(), 3U);
  expect_same();
}

/// The critical path of more events than any test makes is found in such windows.
TEST_F(AnalyzedFilesTest, AWindowOfATraceIsTheWindowOfItsFile) {
  auto const run = support::make_synthetic_run({.devices = 1, .steps = 4, .sync_every_op = true});
  model::Trace const& trace = run.ranks.front().trace;
  ASSERT_TRUE(file::write_trace(trace, path("rank-0.stepscope")));
  auto const file = file::TraceFile::open(path("rank-0.stepscope"));
  ASSERT_TRUE(file);

  auto const [first, last] = trace.time_range();
  for (int64_t part = 0; part < 8; ++part) {
    model::Interval const window{first + (last - first) * part / 10,
                                 first + (last - first) * (part + 3) / 10};
    auto const read = file->read({.window = {window.begin, window.end}});
    ASSERT_TRUE(read);
    model::Trace const cut = model::window_of(trace, window);
    ASSERT_GT(cut.event_count(), 0U);

    EXPECT_LT(cut.event_count(), trace.event_count());
    EXPECT_EQ(cut.columns().start, read->columns().start);
    EXPECT_EQ(cut.columns().dur, read->columns().dur);
    EXPECT_EQ(cut.columns().kind, read->columns().kind);
    EXPECT_EQ(cut.columns().name, read->columns().name);
    EXPECT_EQ(cut.columns().link, read->columns().link);
    EXPECT_EQ(cut.columns().depth, read->columns().depth);
  }
}

TEST_F(AnalyzedFilesTest, DamagedExportsOfNsightSystemsSayTheSame) {
  Random random(3);
  std::string const sound = support::nsys_database(support::nsys_job_sql());
  for (int mutant = 0; mutant < 40; ++mutant) {
    SCOPED_TRACE(mutant);
    std::string bytes = sound;
    for (size_t left = random() % 30; left > 0; --left)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    write("report.sqlite", bytes);
    expect_same(any_options(random));
  }

  EXPECT_GT(analyzed_share(), 0.2);
}

TEST_F(AnalyzedFilesTest, DamagedFlightRecordsSayTheSame) {
  Random random(4);
  for (int mutant = 0; mutant < 40; ++mutant) {
    SCOPED_TRACE(mutant);
    for (int rank = 0; rank < 2; ++rank) {
      nlohmann::json entries = nlohmann::json::array();
      for (int64_t i = 0; i < 6; ++i) {
        auto entry = support::flight_entry(i, i % 2 == 0 ? "all_reduce" : "broadcast", i + 1,
                                           1'000'000'000 * (i + 1) + rank);
        entries.push_back(random() % 4 == 0 ? support::pending(entry) : entry);
      }

      nlohmann::json const dump = support::flight_dump(entries, "[0, 1]");
      std::string bytes = random() % 2 == 0 ? dump.dump() : support::FlightPickle::of(dump);
      if (random() % 4 == 0) support::damage_bytes(bytes, random);
      write(fmt::format("dump_{}", rank), bytes);
    }

    if (random() % 2 == 0) write("worker0.json", support::kineto_job({}).dump());
    expect_same(any_options(random));
  }

  EXPECT_GT(analyzed_share(), 0.5);
}

TEST_F(AnalyzedFilesTest, WhatProcessZeroReadsForASlowHelperIsTheSame) {
  constexpr size_t kRanks = 40;
  support::SyntheticOptions job{.devices = kRanks, .steps = 4};
  job.process_per_device = true;
  auto const run = support::make_synthetic_run(job);
  for (size_t rank = 0; rank < kRanks; ++rank)
    ASSERT_TRUE(
        file::write_trace(run.ranks[rank].trace, path(fmt::format("rank-{}.stepscope", rank))));

  // All outlines, its own half, and more: process 0 must have taken some of the helper's.
  constexpr size_t kReadsBefore = kRanks + kRanks / 2 + 4;
  LoadingProgress progress;
  std::string by_team;
  mpi::testing::as_processes(
      2, std::chrono::seconds(60), [&](std::shared_ptr<mpi::Processes> const& processes) {
        if (processes->rank() == 0) {
          Team team(processes, 1);
          by_team =
              printed(analyze_files({path("")}, {}, Reading::kBySize, false, &team, &progress));
          return;
        }

        Helper helper;
        EXPECT_TRUE(serve(*processes, [&](std::string_view question) {
          bool const observes = static_cast<Asks>(question.front()) == Asks::kObserve;
          while (observes && progress.reading->processes_read < kReadsBefore)
            std::this_thread::yield();
          return helper.answer(question);
        }));
      });

  std::string const in_memory = printed(analyze_files({path("")}, {}, Reading::kBySize));
  EXPECT_EQ(in_memory == by_team, true) << difference(in_memory, by_team);
}

TEST_F(AnalyzedFilesTest, AStreamedRunHasTheSameWindows) {
  support::SyntheticOptions job;
  job.process_per_device = true;
  auto const run = support::make_synthetic_run(job);
  for (size_t rank = 0; rank < run.ranks.size(); ++rank)
    ASSERT_TRUE(
        file::write_trace(run.ranks[rank].trace, path(fmt::format("rank-{}.stepscope", rank))));

  auto const in_memory = analyze_files({path("")}, {}, Reading::kBySize);
  auto const streamed = analyze_files({path("")}, {}, Reading::kByProcess);
  ASSERT_TRUE(in_memory && streamed);
  ASSERT_TRUE(!in_memory->read && streamed->read);
  analyzer::StreamedRun const of_memory = streamed_run_of(*in_memory),
                              of_files = streamed_run_of(*streamed);

  for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
    auto const whole = of_memory.read(rank), whole_again = of_files.read(rank);
    ASSERT_TRUE(whole && whole_again);
    EXPECT_EQ(whole->trace.event_count(), run.ranks[rank].trace.event_count());
    EXPECT_EQ(whole_again->trace.event_count(), whole->trace.event_count());

    model::Interval const window = in_memory->analysis.devices.at(rank).window;
    model::Interval const middle{window.begin + window.length() / 3,
                                 window.end - window.length() / 3};
    auto const part = of_memory.read_window(rank, middle),
               part_again = of_files.read_window(rank, middle);
    ASSERT_TRUE(part && part_again);
    EXPECT_GT(part->trace.event_count(), 0U);
    EXPECT_LT(part->trace.event_count(), whole->trace.event_count());
    EXPECT_EQ(part_again->trace.event_count(), part->trace.event_count());
    EXPECT_EQ(part_again->offset_ns, part->offset_ns);
  }
}

}  // namespace
}  // namespace stepscope::run_loading
