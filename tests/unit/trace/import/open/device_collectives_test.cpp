// The collectives of a file that is looked at block by block, against those of the same trace in
// memory.
#include "trace/import/open/device_collectives.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/synthetic_run.h"
#include "trace/file/format.h"
#include "trace/file/writer.h"
#include "trace/import/open/clock_alignment.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {
namespace {

using model::CollectiveDetail;
using model::EventKind;

class DeviceCollectives : public ::testing::Test {
 protected:
  DeviceCollectives() { std::filesystem::create_directories(folder_); }
  ~DeviceCollectives() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(int number) const {
    return (folder_ / (std::to_string(number) + ".stepscope")).string();
  }
  [[nodiscard]] TraceSource open(int number) const {
    auto sources = TraceSource::open(path(number));
    EXPECT_TRUE(sources) << sources.error().message;
    return std::move(sources->front());
  }
  /// Compares the collectives of the file with those of the trace that is read whole.
  void expect_as_in_memory(int number, size_t devices) const {
    TraceSource const file = open(number);
    auto whole = file.copy();
    ASSERT_TRUE(whole);
    TraceSource const in_memory(std::move(*whole));
    auto const found = read_collectives(file), expected = read_collectives(in_memory);
    ASSERT_TRUE(found && expected);
    EXPECT_EQ(expected->size(), devices);
    EXPECT_EQ(*found, *expected);
  }
  /// Collectives of one track, in blocks.
  static void add(file::TraceWriter& writer, model::TrackId track,
                  std::vector<int64_t> const& starts, uint64_t first_number) {
    model::EventBatch batch;
    for (int64_t const start : starts) {
      batch.add(EventKind::kKernel, start, 5, model::StringId{0}, 0,
                model::KernelDetail{.bytes = 7});
      batch.add(
          EventKind::kCollective, start, 10 + start % 7, model::StringId{0}, 0,
          CollectiveDetail{.bytes = 64, .communicator = 5, .sequence = first_number++, .rank = 1});
    }

    ASSERT_TRUE(writer.write_events(track, batch));
  }
  static file::TraceWriter begin(std::string const& path, int32_t devices) {
    auto writer = file::TraceWriter::create(path);
    EXPECT_TRUE(writer);
    std::vector<model::Track> tracks;
    for (int32_t device = 0; device < devices; ++device)
      for (int64_t stream : {1, 2})
        tracks.push_back({model::TrackKind::kStream, "", stream, device});
    EXPECT_TRUE(writer->write_description({}, {}, {}));
    EXPECT_TRUE(writer->write_tracks(model::TrackId{0}, tracks));
    return std::move(*writer);
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("device_collectives_" + std::to_string(::getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DeviceCollectives, AreThoseOfATraceInMemory) {
  auto const run = support::make_synthetic_run({.devices = 3, .steps = 6});
  ASSERT_TRUE(file::write_trace(run.ranks[0].trace, path(0)));
  expect_as_in_memory(0, 3);
}

TEST_F(DeviceCollectives, ComeInTheOrderOfTheirBeginsWhateverTheirStream) {
  auto writer = begin(path(0), 2);
  add(writer, model::TrackId{0}, {100, 300, 500}, 1);
  add(writer, model::TrackId{1}, {200, 300, 400}, 11);
  add(writer, model::TrackId{3}, {50}, 21);
  add(writer, model::TrackId{0}, {600, 700}, 4);
  ASSERT_TRUE(writer.finish());
  expect_as_in_memory(0, 2);
}

TEST_F(DeviceCollectives, OfTracksThatAreOutOfOrderAreReadAsAnyOther) {
  auto writer = begin(path(0), 1);
  add(writer, model::TrackId{0}, {1000, 2000}, 1);
  add(writer, model::TrackId{0}, {500, 1500}, 3);
  ASSERT_TRUE(writer.finish());
  expect_as_in_memory(0, 1);
}

TEST_F(DeviceCollectives, ADamagedBlockHasNone) {
  {
    auto writer = begin(path(0), 1);
    add(writer, model::TrackId{0}, {1000, 2000}, 1);
    add(writer, model::TrackId{0}, {3000, 4000}, 3);
    add(writer, model::TrackId{1}, {3500}, 5);
    ASSERT_TRUE(writer.finish());
  }

  uint64_t middle = 0;
  {
    TraceSource const source = open(0);
    for (file::IndexEntry const& block : source.file()->blocks())
      if (block.header.min_start == 3000) middle = block.offset + file::kBlockHeaderSize + 5;
  }

  ASSERT_GT(middle, 0U);

  {
    std::fstream bytes(path(0), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(middle));
    bytes.put('\x55');
  }

  expect_as_in_memory(0, 1);
  auto const left = read_collectives(open(0));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->at(0).size(), 3U);
}

TEST_F(DeviceCollectives, OfALibraryWhoseCallsAreKnownAreMerged) {
  model::TraceBuilder builder;
  auto const thread = builder.add_track({model::TrackKind::kThread, "", 1});
  auto const stream = builder.add_track({model::TrackKind::kStream, "", 7, 0});
  auto const name = builder.intern("ncclDevKernel_AllReduce");

  builder.events(thread).add(EventKind::kLaunch, 100, 10, name, 3);
  builder.events(thread).add(
      EventKind::kCollectiveCall, 111, 1, name, 0,
      CollectiveDetail{
          .bytes = 64, .communicator = 5, .sequence = 9, .op = model::CollectiveOp::kAllReduce});
  builder.events(stream).add(EventKind::kKernel, 200, 50, name, 3, model::KernelDetail{});

  ASSERT_TRUE(file::write_trace(std::move(builder).finish(), path(0)));
  expect_as_in_memory(0, 1);
}

TEST_F(DeviceCollectives, WithoutAnyNothingIsRead) {
  auto writer = begin(path(0), 1);
  model::EventBatch batch;
  batch.add(EventKind::kKernel, 1, 5, model::StringId{0}, 0, model::KernelDetail{});
  ASSERT_TRUE(writer.write_events(model::TrackId{0}, batch));
  ASSERT_TRUE(writer.finish());
  expect_as_in_memory(0, 0);
}

/// A run of several hosts, of files or in memory.
RunSources run_of_sources(std::vector<TraceSource> sources) {
  RunSources run;
  for (TraceSource& source : sources) run.ranks.push_back({std::move(source), 0, "rank"});
  return run;
}

TEST_F(DeviceCollectives, SetTheSameClocksFromFilesAsFromMemory) {
  std::vector<TraceSource> files, in_memory;
  std::mt19937 random(9);
  for (int rank = 0; rank < 4; ++rank) {
    model::TraceBuilder builder;

    builder.info().host = "host " + std::to_string(rank / 2);
    builder.info().rank = rank;
    builder.info().origin_epoch_ns = 1'700'000'000'000'000'000 + rank * 500;
    auto const stream = builder.add_track({model::TrackKind::kStream, "", 7, 0});

    for (uint64_t i = 0; i < 500; ++i) {
      auto const truth =
          static_cast<int64_t>(i) * 10'000'000 + static_cast<int64_t>(random() % 3000);
      auto const at = truth + (rank / 2) * (4'000'000 + truth / 50'000);
      // Half of them without numbers.
      builder.events(stream).add(
          EventKind::kCollective, at, 1000, builder.intern("x"), 0,
          CollectiveDetail{.bytes = 64, .communicator = 5 + i % 2, .sequence = i % 2 * i});
    }

    ASSERT_TRUE(file::write_trace(std::move(builder).finish(), path(rank)));
    files.push_back(open(rank));
    auto whole = files.back().copy();
    ASSERT_TRUE(whole);
    in_memory.emplace_back(std::move(*whole));
  }

  RunSources found = run_of_sources(std::move(files)),
             expected = run_of_sources(std::move(in_memory));
  align_clocks(found);
  align_clocks(expected);

  EXPECT_EQ(found.clock.method, "collective ends");
  EXPECT_EQ(found.clock.collectives, 500U);
  EXPECT_EQ(found.clock.residual_median_ns, expected.clock.residual_median_ns);
  EXPECT_EQ(found.clock.residual_p95_ns, expected.clock.residual_p95_ns);

  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(found.ranks[r].offset_ns, expected.ranks[r].offset_ns) << r;
    EXPECT_EQ(found.ranks[r].drift, expected.ranks[r].drift) << r;
  }
  EXPECT_NE(found.ranks[3].drift, 0);
}

}  // namespace
}  // namespace stepscope::import
