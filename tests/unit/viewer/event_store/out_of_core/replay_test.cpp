// The replay of a run that is not in memory gives the answers of the same run in memory.
#include "viewer/event_store/out_of_core/replay.h"

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "viewer/queries/ghost_tracks.h"

namespace stepscope::viewer {
namespace {

class OutOfCoreReplayTest : public OutOfCoreTest {
 protected:
  void SetUp() override {
    OutOfCoreTest::SetUp();
    write(support::make_synthetic_run({.devices = 3,
                                       .steps = 12,
                                       .process_per_device = true,
                                       .input_delay_ns = 8'000'000,
                                       .rank_clock_offset_ns = 3'000'000}));
  }
};

TEST_F(OutOfCoreReplayTest, AnswersAsTheRunInMemory) {
  Scene const expected = open_in_memory();
  auto const in_memory = expected.store->open_replay(expected, {});
  auto const scene = open_out_of_core();
  analyze(*scene);
  auto const session = scene->store->open_replay(*scene, {});
  ASSERT_TRUE(in_memory);
  ASSERT_TRUE(session);

  for (std::string const text : {"input=0", "class:compute=/2 overlap", "comm:bandwidth=*2"}) {
    auto const changes = *analyzer::parse_changes(text);
    analyzer::WhatIfPrediction const here = (*session)->predict(changes);
    analyzer::WhatIfPrediction const there = (*in_memory)->predict(changes);
    ASSERT_FALSE(here.answer.is_refused) << here.answer.reason;
    EXPECT_EQ(here.answer.step_ns, there.answer.step_ns) << text;
    EXPECT_EQ(here.answer.next, there.answer.next) << text;

    ASSERT_EQ(here.timeline.tracks.size(), there.timeline.tracks.size());
    for (size_t i = 0; i < here.timeline.tracks.size(); ++i) {
      EXPECT_EQ(here.timeline.tracks[i].begin, there.timeline.tracks[i].begin);
      EXPECT_EQ(here.timeline.tracks[i].end, there.timeline.tracks[i].end);
    }
  }
}

TEST_F(OutOfCoreReplayTest, DrawsGhostsUnderRowsThatAreNotRead) {
  auto const scene = open_out_of_core();
  analyze(*scene);
  auto const session = scene->store->open_replay(*scene, {});
  ASSERT_TRUE(session);

  analyzer::WhatIfPrediction made = (*session)->predict(*analyzer::parse_changes("input=0"));
  auto const ghosts =
      make_ghost_tracks(*scene, *session, made.answer.change, std::move(made.timeline));
  EXPECT_FALSE(ghosts->tracks.empty());
  for (GhostTrack const& ghost : ghosts->tracks) {
    EXPECT_GT(ghost.size(), 0U);
    EXPECT_EQ(describe_ghost(*ghosts, ghost, 0).size(), 4U);
  }
}

TEST_F(OutOfCoreReplayTest, GivesUpWhenToldToStop) {
  auto const scene = open_out_of_core();
  analyze(*scene);
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(scene->store->open_replay(*scene, source.get_token()));
}

}  // namespace
}  // namespace stepscope::viewer
