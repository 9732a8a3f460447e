// Profiles of XLA that are packed, cut off, damaged or hostile.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/packed.h"
#include "tests/support/processor_time.h"
#include "tests/unit/trace/import/formats/xplane/xplane_profiles.h"
#include "trace/import/formats/xplane/plane_tables.h"

namespace stepscope::import::made {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(DamagedXPlane, IsReadPackedAndInPiecesOfAnySize) {
  auto gpu = gpu_plane();
  auto host = host_plane();
  auto tpu = tpu_plane(false);
  std::string const bytes = write_space({gpu.message(), host.message(), tpu.message()});
  Events const expected = events_of(read_profile(bytes));

  for (std::string const& packed :
       {support::packed_by_gzip(bytes), support::packed_by_zstd(bytes)}) {
    EXPECT_TRUE(is_xplane(Input(std::as_bytes(std::span(packed)), "x")));
    EXPECT_EQ(events_of(read_profile(packed)), expected);
  }

  std::string const packed = support::packed_by_gzip(bytes);
  model::Trace const cut = read_profile(packed.substr(0, packed.size() - 20));
  EXPECT_TRUE(cut.log().truncated);
  EXPECT_FALSE(cut.log().notes.empty());

  for (size_t const piece : {1U, 50U, 200U, 100'000U}) {
    auto const trace = try_to_read_profile(bytes, "host.xplane.pb", piece);
    ASSERT_TRUE(trace);
    EXPECT_EQ(events_of(*trace), expected) << piece;
  }
}

TEST(DamagedXPlane, ThatIsCutAnywhereKeepsWhatIsWhole) {
  auto gpu = gpu_plane();
  auto host = host_plane();
  std::string const bytes = write_space({gpu.message(), host.message()}, "node");
  uint32_t const all = read_profile(bytes).event_count();
  uint32_t most = 0;

  for (size_t size = 0; size < bytes.size(); ++size) {
    auto const trace = try_to_read_profile(bytes.substr(0, size));
    if (!trace) {
      EXPECT_EQ(most, 0U);
      continue;
    }

    EXPECT_LE(trace->event_count(), all + 1)
        << "without the names of a plane what tells of memory is taken for work";
    most = std::max(most, trace->event_count());
    bool const between =
        size + 6 == bytes.size() || size == MessageWriter().bytes(1, gpu.message()).text().size();
    EXPECT_EQ(trace->log().truncated, !between) << size;
    EXPECT_EQ(trace->log().notes.empty(), between) << size;
  }

  EXPECT_GE(most, all);
}

TEST(DamagedXPlane, LengthsThatLieLoseWhatIsInThem) {
  auto gpu = gpu_plane();
  auto host = host_plane();
  std::string const good = host.message();

  // A line that claims gigabytes in the middle of a plane: what is whole before and in it is kept,
  // so is the next plane.
  std::string const line = MessageWriter()
                               .varint(1, 9)
                               .bytes(4, MessageWriter().varint(1, 1).varint(3, 5000).text())
                               .text();
  std::string const liar =
      MessageWriter().bytes(2, "/device:GPU:7").text() + "\x1A\xFF\xFF\xFF\xFF\x0F" + line;

  model::Trace const trace = read_profile(write_space({gpu.message(), liar, good}));
  EXPECT_FALSE(trace.log().truncated);
  EXPECT_EQ(trace.log().dropped, 1U);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("1 message is damaged")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("1 event has no name")));
  EXPECT_EQ(trace.event_count(),
            read_profile(write_space({gpu.message(), good})).event_count() + 1);
}

TEST(DamagedXPlane, DamagedEventsAndNamesAreCountedNeverFatal) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(1, "Stream #1(Kernel)", 0);
  gpu.event("k", 0, kUs);
  gpu.raw_event(
      MessageWriter().varint(1, 999).varint(2, kUs).varint(3, kUs).text());  // no such name
  gpu.raw_event(MessageWriter().varint(1, gpu.event_id("k")).varint(2, 7000).text() +
                "\x1B\x0E");  // breaks off

  gpu.event("backwards", 9 * kUs, -kUs);
  gpu.event("barely backwards", 9 * kUs, -1);
  gpu.event("far", INT64_MAX - 5, INT64_MAX);
  gpu.event("farther", INT64_MIN, 3);
  gpu.line(2, "Stream #2(Kernel)", INT64_MIN).event("before all time", -1, 1);
  gpu.event(std::string(size_t{10} << 20U, 'n'), 0, kUs);

  std::string plane = gpu.message();
  MessageWriter more;
  more.bytes(4, MessageWriter()
                    .bytes(2, MessageWriter().varint(1, 999'999).bytes(2, "keyless").text())
                    .text());
  more.bytes(4, MessageWriter()
                    .varint(1, gpu.event_id("k"))
                    .bytes(2, MessageWriter().bytes(2, "k again").text())
                    .text());
  more.bytes(4, "\xFF\xFF\xFF")
      .bytes(5, "\x12\xFF\xFF\xFF\xFF\x7F")
      .varint(3, 7)
      .bytes(99, "unknown field");

  model::Trace const trace = read_profile(write_space({plane + more.text()}));
  EXPECT_EQ(trace.event_count(), 9U);
  EXPECT_EQ(trace.log().negative_durations, 2U);
  EXPECT_GE(trace.log().impossible_times, 1U);

  auto const& notes = trace.log().notes;
  EXPECT_THAT(notes, Contains(HasSubstr("1 event has no name")));
  EXPECT_THAT(notes, Contains(HasSubstr("1 message is damaged")));
  EXPECT_THAT(notes, Contains(HasSubstr("1 name is given to ids that have one")));
  EXPECT_THAT(notes, Contains(HasSubstr("1 name is longer than 16 KiB")));

  row_named(trace, "k again");
  row_named(trace, "unnamed");
}

TEST(DamagedXPlane, NamesWithoutAKeyAreFoundByTheirOwnId) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(1, "Stream #1(Kernel)", 0)
      .raw_event(MessageWriter().varint(1, UINT64_MAX).varint(3, kUs).text());
  std::string const entry =
      MessageWriter()
          .bytes(2, MessageWriter().varint(1, UINT64_MAX).bytes(2, "keyless").text())
          .text();
  row_named(read_profile(write_space({gpu.message() + MessageWriter().bytes(4, entry).text()})),
            "keyless");
}

/// Multiples of the number of buckets that libstdc++ has for so many entries: were a number its own
/// hash, all would be in one.
std::vector<int64_t> ids_of_one_bucket() {
  constexpr int64_t kBuckets = 172'933, kIds = 170'000, kFirst = 1000;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kIds; ++i) ids.push_back((kFirst + i) * kBuckets);
  return ids;
}
/// Far more than it takes, far less than comparing each with each does.
constexpr double kEnoughForIds = 8;  // s of the processor

TEST(DamagedXPlane, IdsThatAreChosenToCollideAreFoundLikeOthers) {
  std::vector<int64_t> const ids = ids_of_one_bucket();

  double const begin = support::processor_seconds();
  IdIndex index;
  index.build(ids);
  uint32_t found = 0;
  for (uint32_t at = 0; at < ids.size(); ++at) found += index.find(ids[at]) == at ? 1 : 0;

  EXPECT_LT(support::processor_seconds() - begin, kEnoughForIds) << "each was compared with each";
  EXPECT_EQ(found, ids.size());
  EXPECT_EQ(index.doubled(), 0U);
}

TEST(DamagedXPlane, CopiesWhoseCorrelationsAreChosenToCollideAreFoundLikeOthers) {
  std::vector<int64_t> const ids = ids_of_one_bucket();
  PlaneWriter gpu("/device:GPU:0"), host("/host:CPU");
  gpu.line(1, "Stream #1(Kernel)", 0);
  gpu.event("__amd_rocclr_copyBuffer.kd", 0, kUs,
            {{"correlation_id", static_cast<uint64_t>(ids.back())}});

  host.line(5, "Host Threads/5", 0);
  for (size_t i = 0; i < ids.size(); ++i)
    host.event("cuStreamGetId", static_cast<int64_t>(2 * i) * kUs, kUs,
               {{"correlation_id", static_cast<uint64_t>(ids[i])},
                {"memcpy_details", Reference{"size:77"}}});

  std::string const bytes = write_space({gpu.message(), host.message()});
  double const begin = support::processor_seconds();
  model::Trace const trace = read_profile(bytes);

  EXPECT_LT(support::processor_seconds() - begin, kEnoughForIds) << "each was compared with each";
  EXPECT_EQ(trace.detail<model::CopyDetail>(row_named(trace, "__amd_rocclr_copyBuffer.kd")).bytes,
            77U);
}

TEST(DamagedXPlane, PlanesAndLinesWithoutEndAreBounded) {
  std::string const two_bytes = MessageWriter().bytes(1, "").text();
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += two_bytes;

  auto gpu = gpu_plane();
  bytes = write_space({gpu.message()}) + bytes;
  model::Trace const trace = read_profile(bytes);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("are more than any profile has")));

  std::string lines = MessageWriter().bytes(2, "/host:CPU").text();
  for (uint64_t id = 0; id < 80'000; ++id)
    lines +=
        MessageWriter().bytes(3, MessageWriter().varint(1, id).bytes(4, "\x18\x64").text()).text();
  model::Trace const many = read_profile(write_space({lines}));
  EXPECT_EQ(many.event_count(), 80'000U);
  EXPECT_LT(many.tracks().size(), 70'000U);
  EXPECT_THAT(many.log().notes, Contains(HasSubstr("called others")));
}

}  // namespace
}  // namespace stepscope::import::made
