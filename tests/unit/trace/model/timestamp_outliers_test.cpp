#include "trace/model/build/timestamp_outliers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kEpoch = 1'700'000'000'000'000'000, kDay = 86'400'000'000'000;

/// A step of each of 100 ms.
EventBatch steps_from(int64_t first) {
  EventBatch batch;
  for (int64_t i = 0; i < 100; ++i)
    batch.add(EventKind::kStep, first + i * 1'000'000, 10, StringId{1}, 0, StepDetail{i});
  return batch;
}

TEST(TimestampOutliers, ATimeOfZeroAmongEpochTimesIsLeftOutWithItsDetails) {
  EventBatch batch = steps_from(kEpoch);
  EventBatch wrong;
  wrong.add(EventKind::kStep, 0, 10, StringId{2}, 0, StepDetail{-7});
  wrong.add(EventKind::kRange, kEpoch + 5, 10, StringId{3});
  wrong.add(EventKind::kStep, kEpoch + 2 * kDay, 10, StringId{2}, 0, StepDetail{-8});
  wrong.add(EventKind::kStep, kEpoch + 7, 10, StringId{4}, 0, StepDetail{9});

  std::vector<std::vector<EventBatch>> tracks = {{batch}, {wrong}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 2U);

  EXPECT_EQ(tracks[0][0].size(), 100U);
  EXPECT_THAT(tracks[1][0].start, ElementsAre(kEpoch + 5, kEpoch + 7));
  EXPECT_THAT(tracks[1][0].name, ElementsAre(StringId{3}, StringId{4}));
  ASSERT_EQ(std::get<model::DetailColumn<StepDetail>>(tracks[1][0].details).size(), 1U);
  EXPECT_EQ(std::get<model::DetailColumn<StepDetail>>(tracks[1][0].details)[0].index, 9);
}

TEST(TimestampOutliers, ADurationThatCannotBeIsLeftOut) {
  EventBatch batch = steps_from(kEpoch);
  batch.add(EventKind::kRange, kEpoch + 5, 1'700'000'000'000'000'000, StringId{3});
  batch.add(EventKind::kRange, kEpoch + 5, INT64_MAX, StringId{3});
  batch.add(EventKind::kRange, kEpoch + 5, kDay / 2, StringId{4});
  std::vector<std::vector<EventBatch>> tracks = {{batch}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 2U);
  EXPECT_EQ(tracks[0][0].size(), 101U);
}

TEST(TimestampOutliers, ATraceOfDaysIsWhole) {
  EventBatch batch;
  for (int64_t i = 0; i < 1000; ++i) batch.add(EventKind::kMark, i * kDay, 0, StringId{1});
  std::vector<std::vector<EventBatch>> tracks = {{batch}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 0U);
}

TEST(TimestampOutliers, WhatThereIsInNumbersIsNotFar) {
  std::vector<std::vector<EventBatch>> tracks = {{steps_from(kEpoch)},
                                                 {steps_from(kEpoch + 30 * kDay)}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 0U);
  std::vector<std::vector<EventBatch>> few = {{EventBatch()}};
  few[0][0].add(EventKind::kMark, 0, 0, StringId{1});
  few[0][0].add(EventKind::kMark, kEpoch, 0, StringId{1});
  EXPECT_EQ(leave_out_timestamp_outliers(few), 0U);
}

TEST(TimestampOutliers, ManyEventsAtOneFarTimeHaveLostTheirs) {
  EventBatch lost;
  for (int i = 0; i < 80; ++i) lost.add(EventKind::kMark, 0, 0, StringId{1});
  std::vector<std::vector<EventBatch>> tracks = {{steps_from(kEpoch)}, {lost}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 80U);
  EXPECT_EQ(tracks[0][0].size(), 100U);
}

TEST(TimestampOutliers, TheFarthestTimesThatThereAreAreFar) {
  EventBatch batch = steps_from(0);
  batch.add(EventKind::kMark, INT64_MIN, 0, StringId{1});
  batch.add(EventKind::kMark, INT64_MAX, 0, StringId{1});
  std::vector<std::vector<EventBatch>> tracks = {{batch}};
  EXPECT_EQ(leave_out_timestamp_outliers(tracks), 2U);
  EXPECT_EQ(tracks[0][0].size(), 100U);
}

}  // namespace
}  // namespace stepscope::model
