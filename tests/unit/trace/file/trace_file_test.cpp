// Reading parts of a file: what the index and the description tell, and that a part is what a
// filter of the whole gives.
#include "trace/file/trace_file.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/file/summaries.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

/// The rows' own columns as text: those that do not depend on what else is in the trace.
std::multiset<std::string> own_rows(model::Trace const& trace) {
  std::multiset<std::string> rows;
  for (std::string row : rows_of(trace)) {
    size_t const depth = row.find(" depth ");
    row.erase(depth, row.find(':', depth) - depth);
    rows.insert(std::move(row));
  }
  return rows;
}

class TraceFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_trace(trace_, file_.path()));
    auto opened = TraceFile::open(file_.path());
    ASSERT_TRUE(opened) << opened.error().message;
    open_.emplace(std::move(*opened));
  }
  TemporaryFile const file_;
  model::Trace const trace_ = sample_trace(3, 4, 70'000);  // more than one block a track
  std::optional<TraceFile> open_;
};

TEST_F(TraceFileTest, TheIndexAloneTellsWhatIsThere) {
  EXPECT_TRUE(open_->is_finished());
  EXPECT_EQ(open_->event_count(), trace_.event_count());
  EXPECT_EQ(open_->time_range().begin, trace_.time_range().first);
  EXPECT_EQ(open_->time_range().end, trace_.time_range().second);
  ASSERT_EQ(open_->tracks().size(), trace_.tracks().size());
  EXPECT_EQ(open_->tracks()[2].name, trace_.tracks()[2].name);
  EXPECT_EQ(open_->info().command, trace_.info().command);
  EXPECT_TRUE(open_->find_damage().empty());
}

TEST_F(TraceFileTest, MarksTheRowsOfABlockWhoseNamesAreWanted) {
  EventDecoder decoder;
  model::EventBatch batch;
  std::vector<uint8_t> marks;
  std::vector<char> wanted(open_->texts().size() + 1);
  for (size_t id = 0; id < wanted.size(); id += 3) wanted[id] = 1;

  size_t all = 0;
  for (IndexEntry const& block : open_->blocks()) {
    if (block.header.type != static_cast<uint16_t>(BlockType::kEvents)) continue;
    auto const count = open_->mark_names(block, wanted, decoder, marks);
    ASSERT_TRUE(count);
    ASSERT_TRUE(open_->decode_block(block, {}, decoder, batch));

    size_t expected = 0;
    for (model::StringId const name : batch.name)
      expected += wanted[std::min<size_t>(name.value, wanted.size() - 1)] != 0 ? 1 : 0;
    EXPECT_EQ(*count, expected);

    ASSERT_EQ(marks.size(), batch.size());
    for (size_t row = 0; row < marks.size() && expected > 0; ++row)
      EXPECT_EQ(marks[row], wanted[std::min<size_t>(batch.name[row].value, wanted.size() - 1)]);
    all += expected;

    IndexEntry elsewhere = block;
    elsewhere.offset += 1;
    EXPECT_FALSE(open_->mark_names(elsewhere, wanted, decoder, marks));
  }

  EXPECT_GT(all, 1000U);
}

TEST_F(TraceFileTest, AWindowHoldsTheWholeEventsThatTouchIt) {
  auto const [first, last] = trace_.time_range();
  auto const all = rows_of(trace_);

  for (TimeWindow const window :
       {TimeWindow{first + (last - first) / 3, first + (last - first) / 3 + 4000},
        TimeWindow{first, first + 1}, TimeWindow{last - 10, last + 10},
        TimeWindow{last + 1, last + 2}}) {
    auto const part = open_->read({.window = window});
    ASSERT_TRUE(part) << part.error().message;

    std::multiset<std::string> expected;
    for (uint32_t row = 0; row < trace_.event_count(); ++row) {
      bool const starts_inside =
          trace_.start(row) >= window.begin && trace_.start(row) < window.end;
      bool const reaches_in = trace_.start(row) < window.begin && trace_.end(row) > window.begin;
      if (!starts_inside && !reaches_in) continue;
      std::string text = all[row];
      size_t const depth = text.find(" depth ");
      expected.insert(text.erase(depth, text.find(':', depth) - depth));
    }

    EXPECT_EQ(own_rows(*part), expected);
  }
}

TEST_F(TraceFileTest, OfWantedKindsAllThatBeginsBeforeTheWindowIsReadToo) {
  auto const [first, last] = trace_.time_range();
  TimeWindow const window{first + (last - first) / 2, first + (last - first) / 2 + 4000};
  auto const part = open_->read({.window = window, .before = kind_bit(model::EventKind::kMemory)});
  ASSERT_TRUE(part) << part.error().message;

  uint64_t expected = 0;
  for (uint32_t row = 0; row < trace_.event_count(); ++row) {
    bool const before = trace_.start(row) < window.begin;
    bool const touches = before ? trace_.end(row) > window.begin : trace_.start(row) < window.end;
    if (touches || (before && trace_.kind(row) == model::EventKind::kMemory)) ++expected;
  }

  EXPECT_EQ(part->event_count(), expected);
  EXPECT_GT(expected, open_->read({.window = window})->event_count()) << "there are such events";
}

TEST_F(TraceFileTest, TheLimitCountsWhatIsKept) {
  auto const [first, last] = trace_.time_range();
  Selection const selection{
      .window = {first + (last - first) / 2, first + (last - first) / 2 + 4000}};
  uint64_t const kept = open_->read(selection)->event_count();
  ASSERT_GT(kept, 0U);
  EXPECT_TRUE(open_->read(selection, kept));
  EXPECT_FALSE(open_->read(selection, kept - 1));
}

TEST_F(TraceFileTest, OnlyTheTracksThatAreWantedAreRead) {
  auto const part = open_->read({.tracks = std::vector{model::TrackId{1}, model::TrackId{77}}});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->event_count(), trace_.rows_of(model::TrackId{1}).size());
  EXPECT_EQ(part->rows_of(model::TrackId{0}).size(), 0U);
  EXPECT_EQ(part->tracks().size(), trace_.tracks().size())
      << "all tracks are known, whether read or not";
}

TEST_F(TraceFileTest, ColumnsThatAreNotWantedAreZero) {
  auto const part = open_->read({.columns = {.name = false, .correlation = false, .tables = 0}});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->columns().start, trace_.columns().start);
  EXPECT_EQ(part->columns().dur, trace_.columns().dur);
  EXPECT_EQ(part->columns().kind, trace_.columns().kind);
  EXPECT_EQ(part->name(0), "");
  for (model::CopyDetail const& copy : part->details<model::CopyDetail>())
    ASSERT_EQ(copy.bytes, 0U);
}

TEST_F(TraceFileTest, InAWindowDetailsThatAreNotWantedAreOneRow) {
  TimeWindow const window{trace_.time_range().first, trace_.time_range().second};
  auto const part = open_->read({.window = window, .columns = {.tables = 0}});
  ASSERT_TRUE(part);
  EXPECT_GT(part->event_count(), 0U);
  EXPECT_GT(open_->read({.window = window})->details<model::CopyDetail>().size(), 1U);
  EXPECT_EQ(part->details<model::CopyDetail>().size(), 1U);

  for (uint32_t row = 0; row < part->event_count(); ++row) {
    if (part->kind(row) != model::EventKind::kMemcpy) continue;
    ASSERT_EQ(part->detail<model::CopyDetail>(row).bytes, 0U);
  }
}

TEST(TraceFile, WhereCallsTellWhichKernelsCarryThemTheirDetailsAreReadThoughNotWanted) {
  model::CollectiveDetail call{.communicator = 5, .sequence = 9};
  call.launch = model::CallLaunch::kInside;
  model::CollectiveDetail by_name;
  by_name.launch = model::CallLaunch::kNone;
  by_name.channels = 2;
  model::EventBatch host, device;
  model::StringId const name{1};
  host.add(model::EventKind::kCollectiveCall, 100, 50, name, 0, call);
  host.add(model::EventKind::kLaunch, 110, 10, name, 3);
  device.add(model::EventKind::kCollective, 200, 90, name, 3, by_name);

  TemporaryFile const file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_strings(1, std::vector<std::string_view>{"all_reduce"}));
  ASSERT_TRUE(writer->write_description({.tool = "t"}, {}, {}));
  std::vector<model::Track> const tracks = {{.kind = model::TrackKind::kThread},
                                            {.kind = model::TrackKind::kStream, .device = 0}};
  ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, tracks));
  ASSERT_TRUE(writer->write_events(model::TrackId{0}, host));
  ASSERT_TRUE(writer->write_events(model::TrackId{1}, device));
  ASSERT_TRUE(writer->finish());

  auto const opened = TraceFile::open(file.path());
  ASSERT_TRUE(opened) << opened.error().message;
  for (TimeWindow const window : {TimeWindow(), TimeWindow{0, 1000}}) {
    auto const trace = opened->read({.window = window, .columns = {.tables = 0}});
    ASSERT_TRUE(trace);
    uint32_t const row = trace->rows_of(model::TrackId{1}).first;
    EXPECT_EQ(trace->detail<model::CollectiveDetail>(row).sequence, 9U);
  }
}

TEST_F(TraceFileTest, MoreEventsThanAllowedIsAnErrorThatSaysWhatToDo) {
  auto const all = open_->read({}, 1000);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("stepscope slice"), std::string::npos) << all.error().message;
  EXPECT_TRUE(open_->read({.window = {INT64_MAX - 1, INT64_MAX}}, 1000))
      << "only what is asked for counts";
}

void expect_same(TraceFile const& file, model::TrackSummary const& read, model::Trace const& trace,
                 model::TrackSummary const& made) {
  EXPECT_EQ(read.begin, made.begin);
  EXPECT_EQ(read.end, made.end);
  EXPECT_EQ(read.busy, made.busy);
  EXPECT_EQ(read.starts, made.starts);
  EXPECT_EQ(read.depth, made.depth);
  EXPECT_EQ(read.longest, made.longest);
  EXPECT_EQ(read.low, made.low);
  EXPECT_EQ(read.high, made.high);

  for (size_t bin = 0; bin < made.size(); ++bin)
    ASSERT_EQ(file.texts()[read.longest_name[bin].value], trace.text(made.longest_name[bin]));
}

TEST_F(TraceFileTest, SummariesAndStepsComeFromTheFile) {
  EXPECT_TRUE(open_->has_summaries());
  EXPECT_EQ(open_->steps(), steps_of(trace_));
  for (uint32_t track = 0; track < 4; ++track)
    expect_same(*open_, *open_->summary(model::TrackId{track}), trace_,
                summary_of(trace_, model::TrackId{track}));
}

TEST(Summaries, ARecordedFileGetsThemAfterwardsAndLosesNothing) {
  TemporaryFile const file;
  model::Trace const trace = sample_trace(9, 3, 3000);

  auto writer = TraceWriter::create(file.path());
  std::vector<std::string_view> texts;
  for (uint32_t id = 1; id < trace.strings().size(); ++id)
    texts.push_back(trace.text(model::StringId{id}));

  ASSERT_TRUE(writer->write_strings(1, texts));
  ASSERT_TRUE(writer->write_description(trace.info(), trace.devices(), trace.log()));
  ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, trace.tracks()));
  for (uint32_t track = 0; track < 3; ++track)
    ASSERT_TRUE(
        writer->write_sorted_events(model::TrackId{track}, trace.events_of(model::TrackId{track})));
  ASSERT_TRUE(writer->finish());

  {
    auto const bare = TraceFile::open(file.path());
    EXPECT_FALSE(bare->has_summaries());
    EXPECT_EQ(bare->steps(), steps_of(trace)) << "made from the events";
    expect_same(*bare, *bare->summary(model::TrackId{1}), trace,
                summary_of(trace, model::TrackId{1}));
  }

  ASSERT_TRUE(add_summaries(file.path()));
  ASSERT_TRUE(add_summaries(file.path())) << "a second time does nothing";

  auto const full = TraceFile::open(file.path());
  ASSERT_TRUE(full->is_finished() && full->has_summaries());
  EXPECT_EQ(full->steps(), steps_of(trace));
  for (uint32_t track = 0; track < 3; ++track)
    expect_same(*full, *full->summary(model::TrackId{track}), trace,
                summary_of(trace, model::TrackId{track}));
  EXPECT_EQ(rows_of(*full->read()), rows_of(trace));
}

TEST(Summaries, AFileThatIsStillWrittenIsLeftAlone) {
  TemporaryFile const file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer->write_description({}, {}, {}));
  ASSERT_TRUE(add_summaries(file.path()));
  EXPECT_FALSE(TraceFile::open(file.path())->has_summaries());
  ASSERT_TRUE(writer->finish());
}

}  // namespace
}  // namespace stepscope::file
