// The matrix of waits by collective and device, and what is left of it where cells are shared.
#include "analyzer/metrics/communication/collective_waits.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

namespace stepscope::analyzer {
namespace {

constexpr model::Interval kWholeRun{0, 1000};

/// A collective that begins at `begin`; one device a rank, with these waits. The last one does not
/// wait: it came last.
CollectiveStats collective_with_waits(int64_t begin, std::vector<int64_t> const& waits) {
  CollectiveStats collective;
  for (size_t rank = 0; rank < waits.size(); ++rank) {
    CollectiveStats::Participant participant{};
    participant.ref = {static_cast<int32_t>(rank), 0};
    participant.when = {begin, begin + 10};
    participant.wait_ns = waits[rank];
    collective.participants.push_back(participant);
  }

  collective.last_participant = static_cast<int32_t>(waits.size()) - 1;
  return collective;
}

Analysis analysis_of_three_devices() {
  Analysis analysis;
  for (int32_t rank : {0, 1, 2}) analysis.devices.emplace_back().ref = {rank, 0};
  analysis.collectives = {collective_with_waits(0, {5, 3, 0}),
                          collective_with_waits(100, {40, 20, 0}), collective_with_waits(200, {7})};
  return analysis;
}

TEST(CollectiveWaitMatrix, HasACellForEachDeviceAndCollective) {
  auto const matrix = collective_wait_matrix(analysis_of_three_devices(), {kWholeRun, 10, 10});

  EXPECT_EQ(matrix.collectives, 2U) << "one device alone waits for nothing";
  ASSERT_EQ(matrix.columns, 2U);
  ASSERT_EQ(matrix.rows.size(), 3U);
  EXPECT_EQ(matrix.at(0, 1).wait_ns, 40);
  EXPECT_EQ(matrix.at(2, 0).last, 1U);
  EXPECT_EQ(matrix.rows[1].wait_ns, 23);
  EXPECT_EQ(matrix.rows[2].last, 2U);
  EXPECT_EQ(matrix.longest_ns, 40);
}

TEST(CollectiveWaitMatrix, ASharedCellHasTheLongestWaitAndCountsAll) {
  auto const matrix = collective_wait_matrix(analysis_of_three_devices(), {kWholeRun, 1, 1});

  ASSERT_EQ(matrix.rows.size(), 1U);
  EXPECT_EQ(matrix.rows[0].last_device, 3U);
  CollectiveWaitMatrix::Cell const& cell = matrix.at(0, 0);
  EXPECT_EQ(cell.wait_ns, 40);
  EXPECT_EQ(cell.collective, 1U);
  EXPECT_EQ(cell.participant, 0U);
  EXPECT_EQ(cell.count, 6U);
  EXPECT_EQ(cell.last, 2U);
}

TEST(CollectiveWaitMatrix, HoldsTheCollectivesThatBeginInTheRange) {
  auto const matrix = collective_wait_matrix(analysis_of_three_devices(), {{100, 200}, 10, 10});

  EXPECT_EQ(matrix.collectives, 1U);
  EXPECT_EQ(matrix.at(0, 0).collective, 1U);
}

TEST(CollectiveWaitMatrix, IsEmptyWithoutCollectives) {
  auto const matrix = collective_wait_matrix({}, {kWholeRun, 10, 10});

  EXPECT_TRUE(matrix.rows.empty());
  EXPECT_TRUE(matrix.cells.empty());
}

}  // namespace
}  // namespace stepscope::analyzer
