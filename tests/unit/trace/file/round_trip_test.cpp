#include <gtest/gtest.h>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

TEST(RoundTrip, EveryColumnOfEveryKindComesBack) {
  model::Trace const trace = sample_trace(7, 5, 3000);
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(trace, file.path()));
  auto const read = read_trace_file(file.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(rows_of(*read), rows_of(trace));
}

TEST(RoundTrip, DescriptionsComeBack) {
  model::Trace const trace = sample_trace(8, 3, 10);
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(trace, file.path()));
  auto const read = read_trace_file(file.path());
  ASSERT_TRUE(read) << read.error().message;

  EXPECT_EQ(read->info().command, trace.info().command);
  EXPECT_EQ(read->info().origin_epoch_ns, trace.info().origin_epoch_ns);
  EXPECT_EQ(read->info().whole_steps.count, 9);
  EXPECT_EQ(read->info().whole_steps.first, 5);
  EXPECT_EQ(read->info().whole_steps.chosen_first, 7);
  EXPECT_EQ(read->info().whole_steps.chosen_last, 8);
  EXPECT_EQ(read->info().facts, trace.info().facts);
  EXPECT_EQ(read->info().rank, 3);

  ASSERT_EQ(read->tracks().size(), 3U);
  EXPECT_EQ(read->tracks()[1].name, "track 1");
  EXPECT_EQ(read->tracks()[1].kind, model::TrackKind::kStream);
  EXPECT_EQ(read->tracks()[1].stream_kind, model::StreamKind::kCopy);
  ASSERT_EQ(read->devices().size(), 1U);
  EXPECT_EQ(read->devices()[0].capacity_bytes, 1U << 30);

  EXPECT_EQ(read->log().dropped, 3U);  // 0 + 1 + 2 on the tracks, counted once
  EXPECT_FALSE(read->log().truncated);
  EXPECT_EQ(read->log().lost_blocks, 0U);
}

TEST(RoundTrip, ATrackLongerThanABlockIsSplitAndJoined) {
  model::TraceBuilder builder;
  model::TrackId const track = builder.add_track({});
  int64_t const count = static_cast<int64_t>(kMaxBlockRows) * 2 + 17;

  // Backwards, so that the writer has to sort across blocks.
  for (int64_t i = count; i-- > 0;)
    builder.events(track).add(model::EventKind::kRange, i * 10, 5, builder.intern("r"),
                              static_cast<uint64_t>(i));

  model::Trace const trace = std::move(builder).finish();
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(trace, file.path()));

  auto const read = read_trace_file(file.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->columns().start, trace.columns().start);
  EXPECT_EQ(read->columns().correlation, trace.columns().correlation);
}

TEST(RoundTrip, ATraceWithoutEventsIsReadable) {
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(model::TraceBuilder().finish(), file.path()));
  auto const read = read_trace_file(file.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->event_count(), 0U);
}

TEST(RoundTrip, NamesThatAreNotUtf8ComeBackUnchanged) {
  model::TraceBuilder builder;
  model::TrackId const track = builder.add_track({.name = "\xFF\xFE"});
  builder.events(track).add(model::EventKind::kRange, 0, 1,
                            builder.intern(std::string_view("\xC0\x00\x80", 3)));
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(std::move(builder).finish(), file.path()));
  auto const read = read_trace_file(file.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name(0), std::string_view("\xC0\x00\x80", 3));
}

TEST(RoundTrip, AnExistingFileIsNeverOverwritten) {
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(sample_trace(1, 1, 1), file.path()));
  auto const again = write_trace(sample_trace(2, 1, 1), file.path());
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("exists already"), std::string::npos);
}

TEST(EventCodec, ColumnsOfANewerVersionAreSkippedAndMissingOnesAreZero) {
  model::EventBatch batch;
  batch.add(model::EventKind::kMemcpy, 10, 5, model::StringId{0}, 7,
            model::CopyDetail{.bytes = 99, .peer_device = 2});

  base::ByteWriter payload;
  EventEncoder().encode(model::EventView(batch), payload);

  ColumnNames names = current_columns();
  names.details[static_cast<size_t>(model::DetailTable::kCopies)][0] =
      "something newer";  // where "bytes" was

  model::EventBatch decoded;
  uint64_t unknown = 0;
  ASSERT_TRUE(EventDecoder().decode(payload.span(), 1, names, {}, decoded, unknown));

  auto const& copy = std::get<model::DetailColumn<model::CopyDetail>>(decoded.details).at(0);
  EXPECT_EQ(copy.bytes, 0U);
  EXPECT_EQ(copy.peer_device, 2);
  EXPECT_EQ(unknown, 0U);
}

}  // namespace
}  // namespace stepscope::file
