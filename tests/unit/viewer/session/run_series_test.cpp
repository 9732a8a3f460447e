// Which paths are a series, which of its runs the viewer shows, and what it reads of the others.
#include "viewer/loading/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/viewer/comparison/scaling_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "trace/file/writer.h"
#include "viewer/session/session.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunSeriesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-series-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (int32_t const devices : {1, 2}) write_run("n" + std::to_string(devices), devices);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  void write_run(std::string const& name, int32_t devices) const {
    fs::create_directory(path(name));
    model::Run const run = scaling_run(devices);
    for (size_t rank = 0; rank < run.ranks.size(); ++rank)
      ASSERT_TRUE(file::write_trace(run.ranks[rank].trace,
                                    path(name + "/rank-" + std::to_string(rank) + ".stepscope")));
  }
  static void draw(Session& session) {
    ImGui::NewFrame();
    session.frame();
    ImGui::Render();
  }
  /// Draws frames until the run is open and all runs of its series are read.
  static void settle(Session& session) {
    if (session.opening() != nullptr) session.opening()->finish();
    draw(session);
    while (session.scene() != nullptr && session.scene()->series &&
           !session.scene()->series->is_read())
      draw(session);
    for (int i = 0; i < 3; ++i) draw(session);
  }
  static Arguments of(std::vector<std::string> runs) {
    Arguments arguments;
    arguments.runs = std::move(runs);
    return arguments;
  }

  fs::path folder_;
};

TEST_F(RunSeriesTest, IsAFolderOfRunsOrRunsOfDifferentSizes) {
  for (auto const& paths : {std::vector{folder_.string()}, std::vector{path("n2"), path("n1")}}) {
    auto const series = find_series(paths, {});
    ASSERT_TRUE(series) << series.error().message;
    ASSERT_NE(*series, nullptr);
    ASSERT_EQ((*series)->runs.size(), 2U);
    EXPECT_EQ((*series)->runs[0].devices, 1U);
    EXPECT_EQ((*series)->shown_path(), path("n2"));
  }
}

TEST_F(RunSeriesTest, IsNotOneRunOrItsRanks) {
  for (auto const& paths : {std::vector{path("n2")}, std::vector{path("n2/rank-0.stepscope"),
                                                                 path("n2/rank-1.stepscope")}}) {
    auto const series = find_series(paths, {});
    ASSERT_TRUE(series) << series.error().message;
    EXPECT_EQ(*series, nullptr);
  }
}

TEST_F(RunSeriesTest, ShowsTheRunOnSoManyDevicesAsAsked) {
  SeriesOptions options;
  options.devices = 1;
  auto const series = find_series({folder_.string()}, options);
  ASSERT_TRUE(series);
  EXPECT_EQ((*series)->shown, 0U);
  options.devices = 3;
  auto const missing = find_series({folder_.string()}, options);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("they are on 1, 2"));
}

TEST_F(RunSeriesTest, AsOneRunWhereThatIsSaid) {
  SeriesOptions options;
  options.paths_are = import::PathsAre::kOneRun;
  auto const series = find_series({path("n1"), path("n2")}, options);
  ASSERT_TRUE(series);
  EXPECT_EQ(*series, nullptr);
}

TEST_F(RunSeriesTest, WhatCannotBeReadIsSaidAndTheOthersAreRead) {
  auto const series = find_series({folder_.string()}, {});
  ASSERT_TRUE(series);

  std::ofstream(path("n1/rank-0.stepscope"), std::ios::trunc) << "no trace";
  finish_reading(**series);

  EXPECT_TRUE((*series)->is_read());
  EXPECT_EQ((*series)->runs[0].sample, nullptr);
  EXPECT_FALSE((*series)->runs[0].error.empty());

  ASSERT_NE((*series)->runs[1].sample, nullptr);
  EXPECT_EQ(analyzer::devices_of(*(*series)->runs[1].sample), 2U);
  EXPECT_EQ((*series)->runs[1].sample->name, path("n2"));
}

TEST_F(RunSeriesTest, OpensWithItsPanelAndReadsTheOthersBesideTheFrames) {
  NullUi ui;
  Session session(of({folder_.string()}), "");
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  ASSERT_NE(session.scene()->series, nullptr);
  EXPECT_EQ(session.state().panels.tab, Tab::kScaling);
  EXPECT_EQ(session.scene()->run.ranks.size(), 2U);
  EXPECT_TRUE(session.scene()->series->is_read());
  for (auto const& run : session.scene()->series->runs) EXPECT_NE(run.sample, nullptr);
}

TEST_F(RunSeriesTest, AClickOnARunPutsItOnTheTimelineAndReadsNothingTwice) {
  NullUi ui;
  Session session(of({folder_.string()}), "");
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  SharedSample const known = session.scene()->series->runs[0].sample;

  // The runs are at the right of the panel, once they are compared.
  for (float y = 520; session.opening() == nullptr; y = y < 780 ? y + 9 : 520) {
    ui.move(760, y);
    for (bool const down : {false, true, false}) {
      ui.button(down);
      draw(session);
    }
  }

  ASSERT_NE(session.opening(), nullptr);
  settle(session);
  ASSERT_NE(session.scene(), nullptr);
  EXPECT_EQ(session.scene()->series->shown, 0U);
  EXPECT_EQ(session.scene()->run.ranks.size(), 1U);
  EXPECT_EQ(session.state().panels.tab, Tab::kScaling);
  EXPECT_NE(session.scene()->series->runs[1].sample, nullptr);
  EXPECT_NE(known, nullptr);
}

TEST_F(RunSeriesTest, AnotherRunOnTheTimelineSaysThatTheComparisonWasClosed) {
  NullUi ui;
  Session session(of({folder_.string()}), "");
  settle(session);

  session.open_compared({path("n1")});
  settle(session);
  ASSERT_NE(session.pair(), nullptr);
  EXPECT_EQ(session.notice(), "");

  session.show_run(0);
  settle(session);
  EXPECT_EQ(session.pair(), nullptr);
  EXPECT_THAT(session.notice(), HasSubstr("comparison was closed"));

  // Opening the next run is a request of its own.
  session.open({path("n2")});
  settle(session);
  EXPECT_EQ(session.notice(), "");
}

TEST_F(RunSeriesTest, ThePanelThatIsAskedForIsInFront) {
  NullUi ui;
  Arguments arguments = of({folder_.string()});
  arguments.panel = "kernels";
  arguments.series.devices = 1;
  Session session(arguments, "");
  settle(session);
  EXPECT_EQ(session.state().panels.tab, Tab::kKernels);
  EXPECT_EQ(session.scene()->run.ranks.size(), 1U);
}

TEST_F(RunSeriesTest, KeepsTheViewBesideTheRunThatIsShown) {
  NullUi ui;
  {
    Arguments arguments = of({folder_.string()});
    arguments.keeps_view_beside = true;
    Session session(arguments, "");
    settle(session);
    for (char const c : {'t', '9'}) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
      for (int i = 0; i < 3; ++i) draw(session);
    }
  }
  EXPECT_TRUE(fs::exists(path("n2/.stepscope-view.json")));

  // The run opened alone does not begin with the panel of a series.
  Session session(of({path("n2")}), "");
  settle(session);
  EXPECT_EQ(session.state().tracks.filter, "9");
  EXPECT_EQ(session.state().panels.tab, Tab::kStatistics);
}

}  // namespace
}  // namespace stepscope::viewer
