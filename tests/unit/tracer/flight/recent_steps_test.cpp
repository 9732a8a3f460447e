#include "tracer/core/flight/recent_steps.h"

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

constexpr model::TrackId kFirst{0}, kSecond{1};

TEST(RecentStepsTest, KnowTheUsualLengthOfATrackOnceThereAreSome) {
  RecentSteps steps;
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(steps.add({kFirst, i * 100, 10 + i, i}), 0);
  EXPECT_EQ(steps.usual_ns(), 15);
  EXPECT_EQ(steps.add({kSecond, 1000, 500, 10}), 0) << "another track";
  EXPECT_EQ(steps.add({kFirst, 1000, 500, 10}), 15) << "of those before";
}

TEST(RecentStepsTest, JudgeByThoseBeforeAlone) {
  RecentSteps steps;
  int64_t now = 0;
  for (int64_t i = 0; i < 100; ++i, now += 10) steps.add({kFirst, now, 10, i});
  for (int64_t i = 100; i < 200; ++i, now += 30) steps.add({kFirst, now, 30, i});
  EXPECT_EQ(steps.usual_ns(), 30) << "the training has changed";
}

TEST(RecentStepsTest, TellWhereTheLastOnesBegin) {
  RecentSteps steps;
  EXPECT_FALSE(steps.begin_of_last(1));
  for (int64_t i = 0; i < 5; ++i) {
    steps.add({kSecond, i * 100 + 1, 90, i});
    steps.add({kFirst, i * 100, 100, i});
  }

  EXPECT_EQ(steps.begin_of_last(1), 400);
  EXPECT_EQ(steps.begin_of_last(3), 200);
  EXPECT_EQ(steps.begin_of_last(5), 0);
  EXPECT_FALSE(steps.begin_of_last(6));
}

/// A thread with short steps of its own does not say what the last 3 steps are.
TEST(RecentStepsTest, AreThoseOfTheTrackWithTheLongestThatStillCome) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  RecentSteps steps;
  for (int64_t i = 0; i < 20; ++i) {
    steps.add({kFirst, i * kSecondNs, kSecondNs, i});
    for (int64_t k = 0; k < 10; ++k)
      steps.add({kSecond, i * kSecondNs + k, kSecondNs / 10, 100 * i + k});
  }
  EXPECT_EQ(steps.usual_ns(), kSecondNs);
  EXPECT_EQ(steps.begin_of_last(3), 17 * kSecondNs);

  // The first thread has ended.
  for (int64_t k = 0; k < 100; ++k)
    steps.add({kSecond, 30 * kSecondNs + k * kSecondNs / 10, kSecondNs / 10, 10'000 + k});
  EXPECT_EQ(steps.usual_ns(), kSecondNs / 10);
}

TEST(RecentStepsTest, FindTheFirstStepThatIsWholeOnAllTracks) {
  RecentSteps steps;
  EXPECT_FALSE(steps.first_whole(0));
  for (int64_t i = 0; i < 5; ++i) {
    steps.add({kSecond, i * 100 - 5, 100, i});
    steps.add({kFirst, i * 100, 100, i});
  }
  EXPECT_EQ(steps.first_whole(150)->index, 2);
  EXPECT_EQ(steps.first_whole(150)->ns, 195) << "the other track begins it earlier";
  EXPECT_EQ(steps.first_whole(198)->index, 3) << "the other track had begun the step before";
  EXPECT_EQ(steps.first_whole(150, 4)->index, 4);
  EXPECT_FALSE(steps.first_whole(401));
  EXPECT_FALSE(steps.first_whole(0, 5));

  steps.forget_before(250);
  EXPECT_EQ(steps.first_whole(0)->index, 3);
  EXPECT_EQ(steps.latest()->index, 4);
}

}  // namespace
}  // namespace stepscope::tracer
