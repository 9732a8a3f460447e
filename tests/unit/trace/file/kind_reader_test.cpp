// Rows of a few kinds with their launches, read alone, are those of the whole trace, and their
// links lead to the same rows. The files are random, and some are damaged.
#include "trace/file/kind_reader.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::file {
namespace {

using model::EventKind;

constexpr uint64_t kMarks = kind_bit(EventKind::kCollective) | kind_bit(EventKind::kStep);

struct FileOptions {
  bool has_calls = false;
  uint64_t ids = 40;      ///< launches share them
  uint64_t factor = 1;    ///< between ids
  bool is_mixed = false;  ///< any kind on any track, in any order
};

bool may_be_on_a_stream(EventKind kind) {
  return model::is_device_op(kind) || kind == EventKind::kStreamWait;
}

/// Blocks of a few rows each, of threads and streams in turn.
std::string made_file(uint64_t seed, FileOptions const& options) {
  TemporaryFile const file;
  std::mt19937_64 random(seed);
  auto writer = TraceWriter::create(file.path());
  EXPECT_TRUE(writer);

  std::vector<std::string_view> const texts = {"launch", "kernel", "ncclDevKernel_AllReduce",
                                               "step"};
  EXPECT_TRUE(writer->write_strings(1, texts));
  EXPECT_TRUE(writer->write_description({.tool = "t", .rank = 1}, {}, {}));

  std::vector<model::Track> tracks(
      4, model::Track{.kind = model::TrackKind::kThread, .name = "thread"});
  for (size_t t = 1; t < tracks.size(); t += 2)
    tracks[t] = {.kind = model::TrackKind::kStream, .name = "stream", .device = 0};
  EXPECT_TRUE(writer->write_tracks(model::TrackId{0}, tracks));

  std::vector<int64_t> now(tracks.size(), 0);
  for (size_t block = 0; block < 20; ++block) {
    size_t const track = random() % tracks.size();
    model::EventBatch batch;
    size_t const rows = random() % 40;

    for (size_t row = 0; row < rows; ++row) {
      auto kind = static_cast<EventKind>(random() % model::kKindCount);
      bool const fits = options.is_mixed || may_be_on_a_stream(kind) == (track % 2 == 1);
      if (!fits || (kind == EventKind::kCollectiveCall && !options.has_calls))
        kind = track % 2 == 1 ? EventKind::kKernel : EventKind::kLaunch;

      int64_t const start =
          now[track] + (options.is_mixed ? static_cast<int64_t>(random() % 1000) : 0);
      add_random(batch, kind, start, static_cast<int64_t>(random() % 300),
                 model::StringId{static_cast<uint32_t>(random() % 6)},
                 random() % options.ids * options.factor, random);
      now[track] += static_cast<int64_t>(random() % 200);
    }

    if (!batch.empty()) {
      EXPECT_TRUE(writer->write_events(model::TrackId{static_cast<uint32_t>(track)}, batch));
    }
  }

  EXPECT_TRUE(writer->finish());
  std::stringstream content;
  content << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return content.str();
}

base::ByteSpan made_span(std::string const& bytes) { return std::as_bytes(std::span(bytes)); }

/// Without depth and link, which follow from what else is there.
std::vector<std::string> plain_rows(model::Trace const& trace) {
  std::vector<std::string> rows = rows_of(trace);
  for (std::string& row : rows) row.erase(row.find(" depth "), row.find(':') - row.find(" depth "));
  return rows;
}

/// The twin: the rows of the whole trace, one by one.
std::vector<uint32_t> wanted_rows(model::Trace const& trace, uint64_t kinds) {
  std::set<uint64_t> launched;
  auto const& columns = trace.columns();
  auto const is_wanted = [&](uint32_t row) {
    return (kinds >> static_cast<int>(trace.kind(row)) & 1) != 0;
  };

  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (is_wanted(row) && model::is_device_op(trace.kind(row)) && columns.correlation[row] != 0)
      launched.insert(columns.correlation[row]);

  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (is_wanted(row) ||
        (trace.kind(row) == EventKind::kLaunch && launched.contains(columns.correlation[row])))
      rows.push_back(row);

  return rows;
}

/// Whether the rows could be read alone.
bool expect_same_kinds(std::string const& bytes, uint64_t kinds) {
  auto const file = TraceFile::open(made_span(bytes), "test");
  if (!file) return false;
  auto few = file->read_kinds(kinds);
  if (!few) return false;
  auto const whole = file->read();
  EXPECT_TRUE(whole);

  std::vector<uint32_t> const wanted = wanted_rows(*whole, kinds);
  std::vector<std::string> const all = plain_rows(*whole), found = plain_rows(*few);
  EXPECT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    EXPECT_EQ(found[i], all[wanted[i]]);

    if (!model::is_device_op(few->kind(static_cast<uint32_t>(i)))) continue;
    model::EventId const link = whole->columns().link[wanted[i]];
    auto const place = std::lower_bound(wanted.begin(), wanted.end(), link.value);
    model::EventId const expected =
        link.valid() ? model::EventId{static_cast<uint32_t>(place - wanted.begin())} : link;

    EXPECT_EQ(few->columns().link[i], expected);
  }

  model::complete_skeleton(*few, model::whole_of_skeleton(*whole));
  EXPECT_EQ(few->whole_event_count(), whole->event_count());
  EXPECT_EQ(few->time_range(), whole->time_range());
  EXPECT_EQ(few->log().unmatched_launches, whole->log().unmatched_launches);
  EXPECT_EQ(few->log().notes, whole->log().notes);
  EXPECT_EQ(few->tracks().size(), whole->tracks().size());

  return true;
}

TEST(RowsOfKinds, AreThoseOfTheWholeTrace) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_TRUE(expect_same_kinds(made_file(seed, {}), kMarks)) << seed;
    EXPECT_TRUE(expect_same_kinds(made_file(seed, {.is_mixed = true}), kMarks)) << seed;
    EXPECT_TRUE(expect_same_kinds(made_file(seed, {}), kind_bit(EventKind::kMemcpy))) << seed;
    EXPECT_TRUE(expect_same_kinds(made_file(seed, {}),
                                  kind_bit(EventKind::kLaunch) | kind_bit(EventKind::kMemory)))
        << seed;
    EXPECT_TRUE(expect_same_kinds(made_file(seed, {}), 0)) << seed;
  }
}

TEST(RowsOfKinds, AreFoundByAnyIds) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_TRUE(
        expect_same_kinds(made_file(seed, {.ids = 1000, .factor = 0x0123'4567'89AB'CDEF}), kMarks))
        << seed;
}

TEST(RowsOfKinds, AreNotReadAloneWhereCallsBecomeTheirKernels) {
  EXPECT_FALSE(expect_same_kinds(made_file(1, {.has_calls = true, .is_mixed = true}), kMarks));
}

TEST(RowsOfKinds, OfDamagedFilesAreAllThereOrNone) {
  std::string const whole = made_file(3, {});

  int read = 0, refused = 0;
  for (size_t at = kFileHeaderSize; at < whole.size(); at += 61) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    ++(expect_same_kinds(damaged, kMarks) ? read : refused);
    expect_same_kinds(whole.substr(0, at), kMarks);
  }

  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stepscope::file
