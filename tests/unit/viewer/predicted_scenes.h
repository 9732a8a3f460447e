// A scene whose loader is late, with the replay of it and the ghost tracks of a change.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/viewer/scenes.h"
#include "viewer/event_store/event_store.h"
#include "viewer/queries/ghost_tracks.h"

namespace stepscope::viewer {

inline Scene scene_with_late_input() {
  return synthetic_scene({.devices = 2,
                          .steps = 12,
                          .process_per_device = true,
                          .input_delay_ns = 8'000'000,
                          .rank_clock_offset_ns = 3'000'000});
}

/// What the replay of a scene says of changes; the scene must outlive it.
struct PredictedScene {
  PredictedScene(Scene const& scene, std::string const& text) {
    auto opened = scene.store->open_replay(scene, {});
    EXPECT_TRUE(opened);
    if (opened) session = *opened;
    auto const changes = analyzer::parse_changes(text);
    EXPECT_TRUE(changes) << text;
    if (!session || !changes) return;

    analyzer::WhatIfPrediction made = session->predict(*changes);
    EXPECT_FALSE(made.answer.is_refused) << made.answer.reason;
    answer = made.answer;
    ghosts = make_ghost_tracks(scene, session, text, std::move(made.timeline));
  }

  std::shared_ptr<analyzer::ReplaySession const> session;
  analyzer::WhatIfAnswer answer;
  std::shared_ptr<GhostTracks const> ghosts;
};

}  // namespace stepscope::viewer
