#include "tracer/core/trace_store.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"
#include "trace/file/reader.h"

namespace stepscope::tracer {
namespace {

using testing::ElementsAre;

TEST(TraceStore, has_one_track_a_thread_whoever_asks_first) {
  TraceStore store;
  model::TrackId const first = store.thread_track(77);
  EXPECT_EQ(store.thread_track(77), first);
  EXPECT_NE(store.thread_track(78), first);
  EXPECT_EQ(store.track(first).id, 77);
  EXPECT_EQ(store.track(first).kind, model::TrackKind::kThread);
}

TEST(TraceStore, keeps_rows_that_were_added_whole_in_the_order_in_which_they_came) {
  TraceStore store;
  TrackRows& rows = store.rows(store.thread_track(1));

  TrackRows::Open const open = rows.begin_range(10, store.intern("open"));
  rows.add(model::EventKind::kApi, 20, 5, store.intern("cudaEventRecord"), 7);
  model::CopyDetail copy;
  copy.bytes = 512;
  rows.add(model::EventKind::kMemcpy, 30, 6, store.intern("copy"), 8, copy);
  EXPECT_EQ(rows.ended(), 2U);

  rows.end(open, 40);
  model::EventBatch const events = rows.take().copy();
  EXPECT_THAT(events.start, ElementsAre(10, 20, 30));
  EXPECT_THAT(events.dur, ElementsAre(30, 5, 6));
  EXPECT_THAT(events.correlation, ElementsAre(0U, 7U, 8U));
  EXPECT_EQ(std::get<model::DetailColumn<model::CopyDetail>>(events.details).at(0).bytes, 512U);
}

TEST(TraceStore, puts_the_names_that_the_program_gave_behind_those_of_the_hardware) {
  TraceStore store;
  store.name_device(1, "left half");
  store.set_device({.id = 1, .name = "NVIDIA H100"});
  store.set_device({.id = 2, .name = "NVIDIA H200"});
  ASSERT_EQ(store.devices().size(), 2U);
  EXPECT_EQ(store.devices()[0].name, "NVIDIA H100 (left half)");
  EXPECT_EQ(store.devices()[1].name, "NVIDIA H200");

  store.name_device(1, "trainer");
  store.name_device(2, "");
  EXPECT_EQ(store.devices()[0].name, "NVIDIA H100 (trainer)");
  EXPECT_EQ(store.devices()[1].name, "NVIDIA H200");
}

TEST(TraceStore, writes_whole_blocks_however_many_events_are_open) {
  std::string const path =
      ::testing::TempDir() + "/store_of_open_rows_" + std::to_string(::getpid()) + ".stepscope";
  auto const started = FileThread::start([&] { return file::TraceWriter::create(path); });
  ASSERT_TRUE(started) << started.error().message;
  FileThread& output = **started;
  TraceStore store;
  store.set_output(&output);

  model::TrackId const track = store.thread_track(1);
  TrackRows& rows = store.rows(track);
  constexpr int64_t kOpen = 2 * file::kMaxBlockRows, kEnded = 8 * file::kMaxBlockRows;
  for (int64_t i = 0; i < kOpen + kEnded; ++i) {
    TrackRows::Open const row = rows.begin_range(i, model::StringId{0});
    if (i >= kOpen) rows.end(row, i);
    store.row_begun(track, rows);
  }

  store.flush(0, true);
  EXPECT_EQ(output.finish().written_rows, uint64_t{kEnded});
  EXPECT_EQ(rows.open(), size_t{kOpen});

  // A block has a header of 64 bytes: blocks of a few rows would pass this.
  constexpr uintmax_t kBytesPerRow = 8;
  EXPECT_LT(std::filesystem::file_size(path), kBytesPerRow * kEnded);
  std::filesystem::remove(path);
}

/// Kinds with and without details, some rows out of order, so that the writer sorts a copy.
TEST(TraceStore, hands_over_rows_whose_copy_and_view_are_the_same) {
  TrackRows rows;
  constexpr int64_t kRows = 20'000;
  for (int64_t i = 0; i < kRows; ++i) {
    model::CopyDetail copy;
    copy.bytes = static_cast<uint64_t>(3 * i);
    if (i % 3 == 0)
      rows.add(model::EventKind::kMemcpy, i, 5, model::StringId{2}, 9, copy);
    else
      rows.add(model::EventKind::kApi, i % 7, i, model::StringId{1}, static_cast<uint64_t>(i));
  }

  RowBatch const taken = rows.take();
  model::EventBatch const copy = taken.copy();
  model::EventView const view = taken.view();
  ASSERT_EQ(view.size(), size_t{kRows});
  EXPECT_TRUE(std::ranges::equal(view.start, copy.start));
  EXPECT_TRUE(std::ranges::equal(view.dur, copy.dur));
  EXPECT_TRUE(std::ranges::equal(view.kind, copy.kind));
  EXPECT_TRUE(std::ranges::equal(view.correlation, copy.correlation));
  EXPECT_FALSE(view.is_sorted());

  auto const& copies = std::get<model::DetailColumn<model::CopyDetail>>(copy.details);
  auto const seen = std::get<std::span<model::CopyDetail const>>(view.details);
  ASSERT_EQ(copies.size(), size_t{kRows + 2} / 3);
  ASSERT_EQ(seen.size(), copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    ASSERT_EQ(copies[i].bytes, 9 * i);
    ASSERT_EQ(seen[i].bytes, 9 * i);
  }
}

/// The file has every row, although a child is forked between any two blocks and writes to what it
/// sees of them.
TEST(TraceStore, loses_nothing_to_forks) {
  std::string const path =
      ::testing::TempDir() + "/store_and_forks_" + std::to_string(::getpid()) + ".stepscope";
  auto const started =
      FileThread::start([&] { return file::TraceWriter::create(path, kUnforkedBlocks); });
  ASSERT_TRUE(started) << started.error().message;
  FileThread& output = **started;
  TraceStore store;
  store.set_output(&output);

  model::TrackId const track = store.thread_track(1);
  TrackRows& rows = store.rows(track);
  constexpr int64_t kRows = 5 * file::kMaxBlockRows, kForkPeriod = 20'000;
  for (int64_t i = 0; i < kRows; ++i) {
    rows.end(rows.begin_range(i, model::StringId{0}), 2 * i);
    store.row_begun(track, rows);
    if (i % kForkPeriod != 0) continue;
    pid_t const child = ::fork();
    if (child == 0) {
      rows.end(rows.begin_range(-1, model::StringId{3}), -1);
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }

  store.flush(0, true);
  EXPECT_EQ(output.finish().written_rows, uint64_t{kRows});
  auto const trace = file::read_trace_file(path);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), size_t{kRows});
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(trace->columns().start[static_cast<size_t>(i)], i);
    ASSERT_EQ(trace->columns().dur[static_cast<size_t>(i)], i);
  }
  std::filesystem::remove(path);
}

TEST(TraceStore,
     gives_a_number_that_the_system_used_again_the_same_track_with_the_losses_of_both_threads) {
  constexpr size_t kNoMemory = 0;
  Pipeline pipeline({}, kNoMemory);

  for (int thread = 0; thread < 2; ++thread) {
    ThreadRecorder* const recorder = pipeline.source.attach(5);
    recorder->push(named("lost"));
    recorder->pop(kDefaultDomain);
    recorder->close({"worker"});
    pipeline.drain();
  }

  pipeline.finish();
  ASSERT_EQ(pipeline.store.tracks().size(), 1U);
  EXPECT_EQ(pipeline.store.tracks()[0].dropped, pipeline.source.dropped());
  EXPECT_GE(pipeline.source.dropped(), 2U);
}

}  // namespace
}  // namespace stepscope::tracer
