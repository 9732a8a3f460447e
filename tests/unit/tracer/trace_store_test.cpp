#include "tracer/core/trace_store.h"

#include <filesystem>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"

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
  model::EventBatch const events = rows.take();
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
