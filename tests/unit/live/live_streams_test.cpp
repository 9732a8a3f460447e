// Streams of a folder that grows: ranks that begin anew, files that are damaged, a folder that
// goes.
#include "run_loading/live_streams.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/unit/live/made_records.h"

namespace stepscope::run_loading {
namespace {

namespace fs = std::filesystem;
using support::made_record;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LiveStreamsTest : public ::testing::Test {
 protected:
  LiveStreamsTest() {
    fs::remove_all(folder);
    fs::create_directories(folder + "/stream");
  }
  ~LiveStreamsTest() override { fs::remove_all(folder); }

  void begin(std::string const& file, int32_t rank, int64_t process_id,
             int64_t origin_ns = 1) const {
    model::TraceInfo info;
    info.rank = rank;
    info.process_id = process_id;
    info.origin_epoch_ns = origin_ns;
    append(file, stream::encode_header(info));
  }
  void steps(std::string const& file, int64_t first, int64_t count, int64_t longer_ns = 0) const {
    std::vector<std::byte> bytes;
    for (int64_t step = first; step < first + count; ++step)
      stream::encode(made_record(step, longer_ns), bytes);
    append(file, bytes);
  }
  void append(std::string const& file, std::vector<std::byte> const& bytes) const {
    std::ofstream(folder + "/stream/" + file, std::ios::binary | std::ios::app)
        .write(reinterpret_cast<char const*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] LiveStreams open() const {
    auto streams = LiveStreams::open(folder);
    if (!streams) throw std::runtime_error(streams.error().message);
    return std::move(*streams);
  }

  std::string folder = ::testing::TempDir() + "/live-streams-" + std::to_string(::getpid());
};

TEST_F(LiveStreamsTest, FollowsRanksThatComeLater) {
  begin("rank-0.steps", 0, 10);
  steps("rank-0.steps", 0, 5);
  LiveStreams streams = open();
  EXPECT_THAT(streams.run().lines(), SizeIs(1));
  EXPECT_EQ(streams.run().lines()[0].step, 4);

  begin("rank-1.steps", 1, 11);
  steps("rank-1.steps", 0, 7);
  steps("rank-0.steps", 5, 1);
  streams.refresh();
  ASSERT_THAT(streams.run().lines(), SizeIs(2));
  EXPECT_EQ(streams.run().lines()[0].step, 5);
  EXPECT_EQ(streams.run().lines()[1].step, 6);
}

TEST_F(LiveStreamsTest, ShowsTheProcessOfARankThatWasStartedLast) {
  begin("rank-0.steps", 0, 10, 1'000);
  steps("rank-0.steps", 0, 50);
  LiveStreams streams = open();
  begin("rank-0-process-20.steps", 0, 20, 2'000);
  streams.refresh();
  EXPECT_EQ(streams.run().lines().at(0).key.process_id, 10);  // it has no step yet

  steps("rank-0-process-20.steps", 30, 2);
  steps("rank-0.steps", 50, 1);
  streams.refresh();
  ASSERT_THAT(streams.run().lines(), SizeIs(1));
  EXPECT_EQ(streams.run().lines()[0].key.process_id, 20);
  EXPECT_EQ(streams.run().lines()[0].step, 31);
}

/// The page is asked for at step 100,000: it compares with what was long before.
TEST_F(LiveStreamsTest, KnowsThatStepsWereShorterLongAgo) {
  begin("rank-0.steps", 0, 10);
  steps("rank-0.steps", 0, 20'000);
  steps("rank-0.steps", 20'000, 5'000, 12'000'000);
  auto const worth = open().run().worth();
  ASSERT_THAT(worth, SizeIs(1));
  EXPECT_EQ(worth[0].kind, analyzer::WorthKind::kSlower);
  EXPECT_EQ(worth[0].ns, 12'000'000);
  EXPECT_GT(worth[0].first_step, 15'000);
  EXPECT_LT(worth[0].first_step, 21'000);
}

TEST_F(LiveStreamsTest, HasTheNamesOfDevicesOfALongFile) {
  begin("rank-0.steps", 0, 10);
  steps("rank-0.steps", 0, 2'000);

  model::Device device;
  device.name = "a GPU";
  device.capacity_bytes = 1000;
  std::vector<std::byte> bytes;
  stream::encode(device, bytes);
  append("rank-0.steps", bytes);
  steps("rank-0.steps", 2'000, 100);
  EXPECT_EQ(open().run().lines().at(0).device_name, "a GPU");
}

/// A file server's clock is ahead of this machine's: nothing is silent for that.
TEST_F(LiveStreamsTest, TakesFilesOfTheFutureForNewOnes) {
  begin("rank-0.steps", 0, 10);
  steps("rank-0.steps", 0, 5);
  begin("rank-1.steps", 1, 11);
  steps("rank-1.steps", 0, 5);
  auto const now = fs::file_time_type::clock::now();
  fs::last_write_time(folder + "/stream/rank-0.steps", now + std::chrono::hours(1));
  fs::last_write_time(folder + "/stream/rank-1.steps", now - std::chrono::hours(1));

  LiveStreams streams = open();
  auto const lines = streams.run().lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_LT(lines[0].silent_ns, 60'000'000'000);
  EXPECT_GE(lines[1].silent_ns, 3'600'000'000'000);
}

TEST_F(LiveStreamsTest, SaysWhatCannotBeRead) {
  begin("rank-0.steps", 0, 10);
  steps("rank-0.steps", 0, 5);
  append("rank-1.steps", std::vector<std::byte>(1000));
  append("rank-0.steps", std::vector<std::byte>(stream::kRecordBytes));
  LiveStreams streams = open();
  EXPECT_THAT(streams.problems(), SizeIs(2));
  EXPECT_THAT(streams.problems()[0], HasSubstr("rank-0.steps: 1 records are damaged"));
  EXPECT_THAT(streams.problems()[1], HasSubstr("rank-1.steps: not a stream of steps"));

  fs::rename(folder + "/stream", folder + "/gone");
  streams.refresh();
  ASSERT_THAT(streams.problems(), SizeIs(1));
  EXPECT_THAT(streams.problems()[0], HasSubstr("what is shown is as of before"));
  EXPECT_THAT(streams.run().lines(), SizeIs(1));

  fs::rename(folder + "/gone", folder + "/stream");
  steps("rank-0.steps", 5, 1);
  streams.refresh();
  EXPECT_EQ(streams.run().lines().at(0).step, 5);
}

TEST_F(LiveStreamsTest, SaysWhichFolderItWants) {
  auto const none = LiveStreams::open(folder);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("record with stepscope record --stream"));
  EXPECT_FALSE(LiveStreams::open(folder + "/nowhere").has_value());
}

}  // namespace
}  // namespace stepscope::run_loading
