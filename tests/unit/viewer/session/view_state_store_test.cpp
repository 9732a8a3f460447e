// The file next to a run that keeps its view, on real folders.
#include "viewer/session/view_state_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

class Sidecar : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-sidecar-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "run");
    std::ofstream(folder_ / "one.stepscope") << "x";
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  static std::string content(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  /// The first frames, in which panels take their sizes.
  void first_frames(ViewStateStore& keeper, ViewState const& state) const {
    for (int i = 0; i < 3; ++i) keeper.look_at(scene_, state);
  }

  fs::path folder_;
  Scene scene_ = synthetic_scene({.devices = 1, .steps = 3});
  ViewState state_ = initial_view(scene_);
};

TEST_F(Sidecar, LiesInTheFolderOfTheRunOrBesideItsFile) {
  EXPECT_EQ(sidecar_beside(path("run")), path("run/.stepscope-view.json"));
  EXPECT_EQ(sidecar_beside(path("one.stepscope")), path("one.stepscope.view.json"));
  EXPECT_EQ(sidecar_in_state(path("run"), ""), "");
  std::string const kept = sidecar_in_state(path("run"), path("state"));
  EXPECT_TRUE(kept.starts_with(path("state/views/run-")));
  EXPECT_EQ(kept, sidecar_in_state(path("run/"), path("state")));
  EXPECT_NE(kept, sidecar_in_state(path("one.stepscope"), path("state")));
}

TEST_F(Sidecar, LeavesNoFileBesideTheRunUnlessTheViewIsToTravel) {
  ViewStateStore keeper(path("state"));
  EXPECT_FALSE(keeper.open(path("run")));
  first_frames(keeper, state_);

  state_.notes = {{5, "here"}};
  keeper.flush(scene_, state_);
  EXPECT_TRUE(fs::is_empty(folder_ / "run"));
  EXPECT_EQ(keeper.file(), sidecar_in_state(path("run"), path("state")));
  EXPECT_TRUE(keeper.notice().empty());

  ViewStateStore again(path("state"));
  EXPECT_EQ(again.open(path("run"))->notes, state_.notes);
}

TEST_F(Sidecar, ARunThatHasAFileBesideItKeepsItUpToDate) {
  std::string const beside = path("run/.stepscope-view.json");
  std::ofstream(beside) << saved_view_text({});
  ViewStateStore keeper(path("state"));
  ASSERT_TRUE(keeper.open(path("run")));
  first_frames(keeper, state_);
  state_.notes = {{5, "here"}};
  keeper.flush(scene_, state_);
  EXPECT_EQ(keeper.file(), beside);
  EXPECT_EQ(parse_saved_view(content(beside), "x")->notes, state_.notes);
}

TEST_F(Sidecar, KeepsWhatHasChanged) {
  ViewStateStore keeper(path("state"), true);
  EXPECT_FALSE(keeper.open(path("run")));
  first_frames(keeper, state_);

  state_.notes = {{5, "here"}};
  keeper.look_at(scene_, state_);
  EXPECT_TRUE(keeper.is_waiting());
  keeper.flush(scene_, state_);
  EXPECT_FALSE(keeper.is_waiting());
  EXPECT_EQ(keeper.file(), path("run/.stepscope-view.json"));
  EXPECT_TRUE(keeper.notice().empty());

  ViewStateStore again;
  auto const saved = again.open(path("run"));
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->notes, state_.notes);
}

TEST_F(Sidecar, WritesNothingUntilAPersonChangesSomething) {
  ViewStateStore keeper;
  keeper.open(path("run"));
  first_frames(keeper, state_);
  state_.selection = Selection{};
  keeper.look_at(scene_, state_);
  EXPECT_FALSE(keeper.is_waiting());
  keeper.flush(scene_, state_);
  EXPECT_TRUE(fs::is_empty(folder_ / "run"));
}

TEST_F(Sidecar, LeavesAHostileFileAsItIsUntilSomethingChanges) {
  std::string const file = path("run/.stepscope-view.json");
  std::ofstream(file) << "{\"kind\": 7";

  ViewStateStore keeper;
  EXPECT_FALSE(keeper.open(path("run")));
  EXPECT_NE(keeper.notice().find(".stepscope-view.json"), std::string::npos);

  first_frames(keeper, state_);
  keeper.flush(scene_, state_);
  EXPECT_EQ(content(file), "{\"kind\": 7");

  keeper.clear_notice();
  EXPECT_TRUE(keeper.notice().empty());
  state_.theme = Theme::kLight;
  keeper.flush(scene_, state_);
  EXPECT_TRUE(parse_saved_view(content(file), "x"));
}

TEST_F(Sidecar, WhereNothingCanBeWrittenTheUsersFolderKeepsIt) {
  // No user, not even root, can replace a folder that is not empty by a file.
  fs::create_directories(folder_ / "run" / ".stepscope-view.json" / "in the way");

  ViewStateStore keeper(path("state"), true);
  EXPECT_FALSE(keeper.open(path("run")));
  first_frames(keeper, state_);
  state_.notes = {{5, "here"}};
  keeper.flush(scene_, state_);
  EXPECT_EQ(keeper.file(), sidecar_in_state(path("run"), path("state")));
  EXPECT_NE(keeper.notice().find(keeper.file()), std::string::npos);

  ViewStateStore again(path("state"));
  auto const saved = again.open(path("run"));
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->notes, state_.notes);
}

TEST_F(Sidecar, WithoutAnyPlaceSaysSoOnce) {
  fs::create_directories(folder_ / "run" / ".stepscope-view.json" / "in the way");
  ViewStateStore keeper;
  keeper.open(path("run"));
  first_frames(keeper, state_);

  state_.theme = Theme::kLight;
  keeper.flush(scene_, state_);
  EXPECT_TRUE(keeper.file().empty());
  EXPECT_FALSE(keeper.notice().empty());

  keeper.clear_notice();
  state_.theme = Theme::kDark;
  keeper.flush(scene_, state_);
  EXPECT_TRUE(keeper.notice().empty());
}

TEST_F(Sidecar, TheLaterOfBothFilesCounts) {
  SavedView early;
  early.notes = {{1, "early"}};
  SavedView late;
  late.notes = {{2, "late"}};

  std::string const beside = path("run/.stepscope-view.json");
  std::string const in_state = sidecar_in_state(path("run"), path("state"));
  fs::create_directories(fs::path(in_state).parent_path());
  std::ofstream(beside) << saved_view_text(early);
  std::ofstream(in_state) << saved_view_text(late);

  auto const now = fs::file_time_type::clock::now();
  fs::last_write_time(beside, now - std::chrono::hours(1));
  fs::last_write_time(in_state, now);

  ViewStateStore keeper(path("state"));
  EXPECT_EQ(keeper.open(path("run"))->notes, late.notes);
  fs::last_write_time(beside, now + std::chrono::hours(1));
  EXPECT_EQ(keeper.open(path("run"))->notes, early.notes);
}

}  // namespace
}  // namespace stepscope::viewer
