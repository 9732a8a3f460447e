// The window from opening a run to the next one, and its message when that fails, on ImGui's null
// backend.
#include "viewer/session/session.h"
#include "viewer/session/view_state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "trace/file/writer.h"
#include "viewer/session/recent_runs.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-session-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (char const* run : {"first", "second"}) write_run(run);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  void write_run(std::string const& name) const {
    auto const run = support::make_synthetic_run({.devices = 1, .steps = 6});
    ASSERT_TRUE(file::write_trace(run.ranks[0].trace, path(name + ".stepscope")));
  }
  /// Draws frames until the viewer opens no run any more.
  static void settle(Session& session) {
    if (session.opening() != nullptr) session.opening()->finish();
    for (int i = 0; i < 3; ++i) draw(session);
    EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);
  }
  static void draw(Session& session) {
    ImGui::NewFrame();
    session.frame();
    ImGui::Render();
  }
  static Arguments of(std::vector<std::string> runs) {
    Arguments arguments;
    arguments.runs = std::move(runs);
    return arguments;
  }
  /// `view first --vs OTHER`.
  [[nodiscard]] Arguments first_beside(std::string const& other) const {
    Arguments arguments = of({path("first.stepscope")});
    arguments.candidate = {path(other)};
    return arguments;
  }
  /// Draws frames until both runs are open, or the second one failed.
  static void settle_both(Session& session) {
    settle(session);
    settle(session);
  }

  fs::path folder_;
  NullUi ui_;
};

TEST_F(SessionTest, ShowsTheProgressAndThenTheRun) {
  Session session(of({path("first.stepscope")}), "");
  ASSERT_NE(session.opening(), nullptr);
  draw(session);
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_GT(session.scene()->events, 0U);
  EXPECT_EQ(session.opening(), nullptr);
  EXPECT_TRUE(session.error().empty());
}

TEST_F(SessionTest, AppliesTheCommandLineToItsRun) {
  Arguments arguments = of({path("first.stepscope")});
  arguments.panel = "kernels";
  arguments.theme = "light";
  arguments.time = "10ms:20ms";
  Session session(arguments, "");
  settle(session);
  EXPECT_EQ(session.state().panels.tab, Tab::kKernels);
  EXPECT_EQ(session.state().theme, Theme::kLight);
  EXPECT_EQ(session.state().window, (TimeWindow{10e6, 20e6}));
}

TEST_F(SessionTest, SaysWhatTheCommandLineAsksForAndTheRunLacks) {
  Arguments arguments = of({path("first.stepscope")});
  arguments.finding = 99;
  Session session(arguments, "");
  settle(session);
  EXPECT_THAT(session.notice(), testing::HasSubstr("--finding 99: the run has"));

  arguments = of({path("first.stepscope")});
  arguments.select = "no such kernel";
  Session other(arguments, "");
  settle(other);
  EXPECT_THAT(other.notice(), testing::HasSubstr("no event has this name"));
}

TEST_F(SessionTest, SaysWhyARunCannotBeOpened) {
  Session session(of({path("not there")}), "");
  settle(session);
  EXPECT_EQ(session.scene(), nullptr);
  EXPECT_NE(session.error().find("not there"), std::string::npos);
}

TEST_F(SessionTest, KeepsTheRunThatIsShownWhenTheNextCannotBeOpened) {
  std::ofstream(path("broken.stepscope")) << "no trace \xFF\xFE";
  Session session(of({path("first.stepscope")}), "");
  settle(session);
  Scene const* const shown = session.scene();

  session.open({path("broken.stepscope")});
  settle(session);
  EXPECT_EQ(session.scene(), shown);
  EXPECT_FALSE(session.error().empty());

  // Esc goes back to it.
  ui_.hold(Key::kEscape, true);
  draw(session);
  ui_.hold(Key::kEscape, false);
  draw(session);
  EXPECT_TRUE(session.error().empty());
}

TEST_F(SessionTest, ShowsTheNextRunWithItsOwnView) {
  Arguments arguments = of({path("first.stepscope")});
  arguments.panel = "memory";
  Session session(arguments, "");
  settle(session);
  session.open({path("second.stepscope")});
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_EQ(session.state().panels.tab, Tab::kStatistics);
  EXPECT_NE(session.title().find("second"), std::string::npos);
}

TEST_F(SessionTest, OpensASecondRunBesideTheFirst) {
  Session session(first_beside("second.stepscope"), "");
  settle(session);

  // The base is shown while the other one is opened.
  ASSERT_NE(session.scene(), nullptr);
  settle(session);
  ASSERT_NE(session.pair(), nullptr);
  EXPECT_EQ(session.pair()->path(RunSide::kBase), path("first.stepscope"));
  EXPECT_EQ(session.pair()->path(RunSide::kNew), path("second.stepscope"));
  EXPECT_EQ(session.state().panels.tab, Tab::kComparison);
  EXPECT_THAT(session.title(),
              testing::AllOf(testing::HasSubstr("first"), testing::HasSubstr("second")));

  // The next run alone: the comparison is over.
  session.open({path("second.stepscope")});
  settle(session);
  EXPECT_EQ(session.pair(), nullptr);
  EXPECT_NE(session.state().panels.tab, Tab::kComparison);
}

TEST_F(SessionTest, ClosesTheComparisonAndReturnsToTheBase) {
  Session session(first_beside("second.stepscope"), "");
  settle_both(session);
  ASSERT_NE(session.pair(), nullptr);
  Scene const* const base = session.scene();

  // "Close the comparison" stands at the right of the line with the base's name.
  for (float x = 880; x > 700 && session.pair() != nullptr; x -= 12)
    for (bool const down : {false, true, false}) {
      ui_.move(x, 166);
      ui_.button(down);
      draw(session);
    }

  EXPECT_EQ(session.pair(), nullptr);
  EXPECT_EQ(session.scene(), base);
  draw(session);
  EXPECT_EQ(session.state().panels.tab, Tab::kStatistics);
}

TEST_F(SessionTest, KeepsTheBaseWhenTheSecondRunCannotBeOpened) {
  Session session(first_beside("not there"), "");
  settle_both(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_EQ(session.pair(), nullptr);
  EXPECT_THAT(session.error(), testing::HasSubstr("not there"));
}

TEST_F(SessionTest, ARunThatIsDroppedToBeComparedIsOpenedAloneWhereNoneIsShown) {
  Session session(of({}), "");
  session.open_compared({path("first.stepscope")});
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_EQ(session.pair(), nullptr);

  session.open_compared({path("second.stepscope")});
  settle(session);
  ASSERT_NE(session.pair(), nullptr);

  // Another one takes the place of the second.
  session.open_compared({path("first.stepscope")});
  settle(session);
  ASSERT_NE(session.pair(), nullptr);
  EXPECT_EQ(session.pair()->path(RunSide::kNew), path("first.stepscope"));
  EXPECT_TRUE(session.pair()->is_same_run());
}

TEST_F(SessionTest, KeepsTheViewInTheUsersFolderForTheNextTime) {
  std::string const sidecar = sidecar_in_state(path("first.stepscope"), path("state")),
                    recent = path("state/recent");

  {
    Session session(of({path("first.stepscope")}), recent);
    settle(session);
    draw(session);
    // The first key waits for a filter, which the second one writes.
    for (char const c : {'t', '9'}) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
      for (int i = 0; i < 3; ++i) draw(session);
    }
    EXPECT_EQ(session.state().tracks.filter, "9");
    EXPECT_TRUE(session.is_busy());
    EXPECT_FALSE(fs::exists(sidecar));
  }

  ASSERT_TRUE(fs::exists(sidecar));
  EXPECT_FALSE(fs::exists(path("first.stepscope.view.json")));

  Session session(of({path("first.stepscope")}), recent);
  settle(session);
  EXPECT_EQ(session.state().tracks.filter, "9");
}

TEST_F(SessionTest, SaysThatAHostileViewIsNotUsedAndLeavesIt) {
  std::ofstream(path("first.stepscope.view.json")) << "hostile";

  {
    Session session(of({path("first.stepscope")}), "");
    settle(session);
    EXPECT_NE(session.notice().find("first.stepscope.view.json"), std::string::npos);
    for (int i = 0; i < 5; ++i) draw(session);
  }

  std::ifstream in(path("first.stepscope.view.json"));
  std::string content;
  in >> content;
  EXPECT_EQ(content, "hostile");
}

TEST_F(SessionTest, AViewInAFolderIsNoTrace) {
  fs::create_directory(path("run"));
  fs::copy_file(path("first.stepscope"), path("run/first.stepscope"));
  for (char const* name : {"run/.stepscope-view.json", "run/first.stepscope.view.json"})
    std::ofstream(path(name)) << saved_view_text(SavedView{});
  Session session(of({path("run")}), "");
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_EQ(session.scene()->run.ranks.size(), 1U);
  EXPECT_TRUE(session.scene()->run.notes.empty());
}

TEST_F(SessionTest, GivesUpWhenTold) {
  Session session(of({path("first.stepscope")}), "");
  session.cancel();
  settle(session);
  EXPECT_EQ(session.scene(), nullptr);
  EXPECT_TRUE(session.error().empty());
}

TEST_F(SessionTest, WithoutARunOffersTheLastOnes) {
  add_recent_run(path("recent"), path("first.stepscope"));
  Session session(of({}), path("recent"));
  draw(session);
  draw(session);

  // The first of the list, below the heading of the card in the middle.
  bool opened = false;
  for (float y = 200; y < 420 && !opened; y += 6) {
    ui_.move(640, y);
    for (bool const down : {false, true, false}) {
      ui_.button(down);
      draw(session);
    }
    opened = session.opening() != nullptr || session.scene() != nullptr;
  }

  ASSERT_TRUE(opened);
  settle(session);
  EXPECT_NE(session.scene(), nullptr);
}

TEST_F(SessionTest, RemembersWhatWasOpened) {
  std::string const recent = path("state/stepscope/recent");
  Session session(of({path("first.stepscope")}), recent);
  settle(session);
  session.open({path("second.stepscope")});
  settle(session);
  EXPECT_EQ(read_recent_runs(recent),
            (std::vector{path("second.stepscope"), path("first.stepscope")}));
}

TEST_F(SessionTest, RecentRunsAreBoundedDistinctAndThere) {
  std::string const recent = path("recent");
  for (int i = 0; i < 15; ++i) {
    fs::create_directory(path("run" + std::to_string(i)));
    add_recent_run(recent, path("run" + std::to_string(i)));
  }

  add_recent_run(recent, path("run9"));
  auto runs = read_recent_runs(recent);
  ASSERT_EQ(runs.size(), kMaxRecentRuns);
  EXPECT_EQ(runs.front(), path("run9"));
  EXPECT_EQ(runs[1], path("run14"));

  fs::remove_all(path("run14"));
  EXPECT_EQ(read_recent_runs(recent)[1], path("run13"));

  std::ofstream(recent) << "\n\n" << std::string(10'000, 'x') << "\n\xFF\n";
  EXPECT_TRUE(read_recent_runs(recent).empty());
  EXPECT_TRUE(read_recent_runs("").empty());
  add_recent_run("", path("run9"));
}

TEST(OpenProgress, OnlyGrowsFromStageToStage) {
  OpenTask::Progress progress;
  progress.events = 1000;
  double before = -1;

  for (auto const stage : {OpenTask::Stage::kFiles, OpenTask::Stage::kEvents,
                           OpenTask::Stage::kAnalysis, OpenTask::Stage::kScene}) {
    progress.stage = stage;
    if (stage == OpenTask::Stage::kEvents) {
      for (progress.events_read = 0; progress.events_read <= 1000; progress.events_read += 250) {
        EXPECT_GE(share_of(progress), before);
        before = share_of(progress);
      }
    }
    EXPECT_GE(share_of(progress), before);
    before = share_of(progress);
    EXPECT_FALSE(words_of(progress).empty());
  }

  EXPECT_LT(before, 1);
}

}  // namespace
}  // namespace stepscope::viewer
