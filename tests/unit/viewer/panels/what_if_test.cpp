// The panel What-if: the numbers of `stepscope whatif`, in the same words.
#include "viewer/panels/what_if/words.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/whatif.h"
#include "reports/text/whatif.h"
#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/predicted_scenes.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

using testing::HasSubstr;

/// What the command prints.
std::string printed_answer(Scene const& scene, std::string const& text) {
  analyzer::WhatIfQuestion question;
  question.changes = {*analyzer::parse_changes(text)};
  auto const stats = analyzer::what_if(scene.run, scene.analysis, question);
  return reports::whatif_text(scene.run, scene.analysis, stats, {false, 4000});
}

TEST(WhatIfWords, AreThoseOfTheCommand) {
  Scene const scene = scene_with_late_input();
  for (std::string const text : {"input=0", "class:compute=/2 overlap", "comm:bandwidth=*2"}) {
    PredictedScene const predicted(scene, text);
    std::string const printed = printed_answer(scene, text);
    auto const lines = prediction_lines(predicted.session->baseline(), predicted.answer);
    ASSERT_GT(lines.size(), 3U);

    for (std::string const& line : lines) {
      // The command has the recorded step in another sentence.
      if (line.starts_with("recorded step")) continue;
      EXPECT_THAT(printed, HasSubstr(line));
    }
    for (std::string const& line : trust_lines(predicted.session->baseline()))
      EXPECT_THAT(printed, HasSubstr(line));
  }
}

TEST(WhatIfWords, AWaterfallHasTheStepsOfTheSequence) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  auto const fixes = analyzer::find_fixes(*predicted.session);
  auto const lines = fix_lines(*predicted.session, fixes);
  ASSERT_EQ(lines.size(), fixes.size());
  ASSERT_FALSE(lines.empty());

  EXPECT_EQ(lines[0].finding, "input-bound");
  EXPECT_EQ(lines[0].changes, "input=0");
  EXPECT_EQ(lines[0].before, 1.0);
  ASSERT_TRUE(lines[0].after);
  EXPECT_DOUBLE_EQ(*lines[0].after,
                   fixes[0].in_sequence->step_ns / predicted.session->baseline().step_ns);
  std::string const printed = printed_answer(scene, "input=0");
  for (std::string const& words : {lines[0].step, lines[0].in_sequence, lines[0].alone})
    EXPECT_THAT(printed, HasSubstr(words));
}

TEST(WhatIfWords, SayHowFarTheReplayIs) {
  WhatIfStatus status;
  EXPECT_THAT(replay_progress(status), HasSubstr("Building"));
  status.failure = "rank0.stepscope: cannot be read";
  EXPECT_THAT(replay_progress(status), HasSubstr("cannot be read"));

  Scene const scene = scene_with_late_input();
  status.failure.clear();
  status.session = PredictedScene(scene, "").session;
  EXPECT_EQ(replay_progress(status), "");
}

TEST(WhatIfWords, NameTheStepThatStaysInItsPlace) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  EXPECT_THAT(alignment_words(scene, *predicted.ghosts), HasSubstr("begins where it was recorded"));
}

/// Frames until nothing is computed any more.
void settle(NullUi& ui, Scene const& scene, ViewState& state) { ui.frames(scene, state, 4); }

TEST(WhatIfPanel, ShowsTheTimelineOfTheChangesInTheBox) {
  Scene const scene = scene_with_late_input();
  NullUi ui;
  ViewState state = initial_view(scene);
  state.panels.what_if.changes = "input=0";
  settle(ui, scene, state);
  EXPECT_FALSE(state.panels.what_if.nodes.empty());

  state.panels.what_if.ghosts = false;
  settle(ui, scene, state);
  EXPECT_TRUE(state.panels.what_if.nodes.empty());

  state.panels.what_if.ghosts = true;
  settle(ui, scene, state);
  EXPECT_FALSE(state.panels.what_if.nodes.empty());
  state.panels.what_if.changes.clear();
  settle(ui, scene, state);
  EXPECT_TRUE(state.panels.what_if.nodes.empty());
}

TEST(WhatIfPanel, AsksNothingThatIsNoChange) {
  Scene const scene = scene_with_late_input();
  NullUi ui;
  ViewState state = initial_view(scene);
  state.panels.tab = Tab::kWhatIf;
  for (std::string const text : {"inputs=0", "kernel:(=/2", "'", "\xFF\x1B[31m", "straggler="}) {
    state.panels.what_if.changes = text;
    settle(ui, scene, state);
    EXPECT_TRUE(state.panels.what_if.nodes.empty()) << text;
  }
}

TEST(WhatIfPanel, DrawsRunsThatCannotBeReplayed) {
  for (Scene const& scene :
       {scene_of([](model::TraceBuilder&) {}), scene_of([](model::TraceBuilder& builder) {
          builder.events(add_stream(builder))
              .add(model::EventKind::kKernel, 5, 1, builder.intern("k"), 0, model::KernelDetail{});
        })}) {
    NullUi ui;
    ViewState state = initial_view(scene);

    state.panels.tab = Tab::kWhatIf;
    state.panels.what_if.changes = "input=0";
    settle(ui, scene, state);
    EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);
  }
}

TEST(WhatIfPanel, DrawsGhostsAndTheirTooltips) {
  Scene const scene = scene_with_late_input();
  NullUi ui;
  ViewState state = initial_view(scene);
  state.panels.tab = Tab::kWhatIf;
  state.panels.what_if.changes = "input=0 class:compute=/2";
  toggle_pin(state, scene, *scene.node_of_track(0, 0));
  settle(ui, scene, state);

  for (float y = 100; y < 800; y += 23)
    for (float x = 10; x < 900; x += 97) {
      ui.move(x, y);
      ui.frames(scene, state, 1);
    }
  EXPECT_FALSE(state.panels.what_if.nodes.empty());
}

}  // namespace
}  // namespace stepscope::viewer
