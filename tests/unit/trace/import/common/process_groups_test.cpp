// Which member of a process group a process is, and that two tools' recordings of it are of one
// participant.
#include "trace/import/common/process_groups.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/metrics/communication/collectives.h"
#include "tests/support/flight_dumps.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import {
namespace {

TEST(RankInGroup, IsItsPlaceInTheList) {
  GroupMembers const members{"[3, 11, 7]", {}, {}, 3};
  EXPECT_EQ(rank_in_group(3, 16, members), 0);
  EXPECT_EQ(rank_in_group(7, 16, members), 2);
  EXPECT_EQ(rank_in_group(5, 16, members), -1) << "is no member";
  EXPECT_EQ(rank_in_group(-1, 16, members), -1);
  EXPECT_EQ(rank_in_group(0, 1, {"[0]", {}, {}, 0}), 0) << "no size is needed";
}

TEST(RankInGroup, OfALongListFollowsFromWhatIsSaidBeside) {
  GroupMembers const strided{"[1, 5, 9, ...]", 1, 4, 64};
  EXPECT_EQ(rank_in_group(9, 256, strided), 2);
  EXPECT_EQ(rank_in_group(161, 256, strided), 40);
  EXPECT_EQ(rank_in_group(160, 256, strided), -1);
  EXPECT_EQ(rank_in_group(257, 256, strided), -1) << "behind the last";

  EXPECT_EQ(rank_in_group(12, 16, {"[0, 2, ..., 14]", {}, {}, 8}), 6);
  EXPECT_EQ(rank_in_group(14, 16, {"[0, 2, ..., 14]", {}, {}, 8}), 7);
  EXPECT_EQ(rank_in_group(12, 16, {"[0, 2, ..., 15]", {}, {}, 8}), -1)
      << "are not as far apart each";
  EXPECT_EQ(rank_in_group(12, 16, {"[0, 2, ..., 14]", {}, {}, 5}), -1);
}

TEST(RankInGroup, OfAllRanksIsThatInTheJob) {
  EXPECT_EQ(rank_in_group(40, 64, {"[0, 1, 2, ...]", {}, {}, 64}), 40);
  EXPECT_EQ(rank_in_group(40, 64, {"", {}, {}, 64}), 40);
  EXPECT_EQ(rank_in_group(40, 128, {"[0, 1, 2, ...]", {}, {}, 64}), -1);
  EXPECT_EQ(rank_in_group(40, 64, {"[0, 2, 4, ...]", {}, {}, 64}), -1);
  EXPECT_EQ(rank_in_group(64, 64, {"", {}, {}, 64}), -1);
}

TEST(RankInGroup, OfWhatIsNoListIsUnknown) {
  for (std::string_view const text : {"", "[]", "...", "[...]", "[..., 3]", "a, b",
                                      "[99999999999999999999, ...]", "[[[", "[0.5, ...]"})
    EXPECT_EQ(rank_in_group(3, 8, {text, {}, {}, 4}), -1) << text;
  EXPECT_EQ(rank_in_group(3, 8, {"[2147483647, 0, ..., 5]", INT64_MAX, INT64_MAX, UINT32_MAX}), -1);
  EXPECT_EQ(rank_in_group(3, 8, {"[0, ...]", 0, INT64_MIN, UINT32_MAX}), -1);
  EXPECT_EQ(rank_in_group(INT32_MAX, 8, {"[0, 2147483647, ...]", {}, {}, UINT32_MAX}), 1);
}

/// Traces of a profiler that numbers collectives but names no ranks in groups, and dumps of the
/// same ones.
class TwoRecordings : public ::testing::Test {
 protected:
  static constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;
  static constexpr int kCollectives = 3;

  TwoRecordings() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TwoRecordings() override { std::filesystem::remove_all(folder_); }

  void write_profile(int rank, int ranks) const {
    std::string events;
    for (int i = 1; i <= kCollectives; ++i)
      events += fmt::format(
          R"json({}{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": {}, "tid": 7, "ts": {}, "dur": 4000,
           "args": {{"device": {}, "stream": 7, "Collective name": "allreduce", "In msg nelems": 10000, "Out msg nelems": 10000,
                    "Group size": {}, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "{}", "Seq": {}}}}})json",
          i > 1 ? "," : "", rank, kEpochNs / 1000 + i * 10'000, rank, ranks,
          ranks_text(all_ranks(ranks)), i);

    std::ofstream(folder_ / fmt::format("rank-{}.json", rank)) << fmt::format(
        R"json({{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},
                        "traceEvents": [{}]}})json",
        rank, ranks, events);
  }
  void write_dump(int rank, int ranks) const {
    support::Json entries = support::Json::array();
    for (int i = 1; i <= kCollectives; ++i) {
      entries.push_back(support::flight_entry(i - 1, "all_reduce", i, kEpochNs + i * 10'000'000));
      entries.back()["duration_ms"] = 4;
    }
    std::ofstream(folder_ / fmt::format("nccl_trace_rank_{}", rank))
        << support::flight_dump(entries, fmt::format("[{}]", fmt::join(all_ranks(ranks), ", ")))
               .dump();
  }
  static std::vector<int32_t> all_ranks(int ranks) {
    std::vector<int32_t> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
    return all;
  }
  /// How many ranks take part in each collective.
  [[nodiscard]] std::vector<size_t> participants() const {
    auto const run = open_run(folder_.string());
    if (!run) ADD_FAILURE() << run.error().message;
    std::vector<size_t> counts;
    if (run)
      for (auto const& collective : analyzer::match_collectives(analyzer::index_devices(*run)))
        counts.push_back(collective.participants.size());
    return counts;
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_two_recordings_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(TwoRecordings, OfAProfilerAndTheFlightRecorderAreOneParticipant) {
  for (int rank = 0; rank < 2; ++rank) {
    write_profile(rank, 2);
    write_dump(rank, 2);
  }
  EXPECT_THAT(participants(), ::testing::ElementsAre(2, 2, 2));
}

TEST_F(TwoRecordings, OfSomeRanksOfALargeJobAreOneParticipantEach) {
  for (int const rank : {3, 35}) {
    write_profile(rank, 40);
    write_dump(rank, 40);
  }
  EXPECT_THAT(participants(), ::testing::ElementsAre(2, 2, 2));
}

TEST_F(TwoRecordings, OfDifferentRanksAreTwoParticipants) {
  write_profile(0, 2);
  write_dump(1, 2);
  EXPECT_THAT(participants(), ::testing::ElementsAre(2, 2, 2));
}

}  // namespace
}  // namespace stepscope::import
