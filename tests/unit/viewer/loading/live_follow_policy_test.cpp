// When the viewer reads a run again that is being written, and what it reports about its files. The
// clock is made, the files are real.
#include "viewer/loading/live_follow_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "viewer/loading/run_files.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class FollowedFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-following-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write("rank-0.stepscope", "0123456789");
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  void write(std::string const& name, std::string const& content) const {
    std::ofstream(path(name)) << content;
  }
  void append(std::string const& name) const { std::ofstream(path(name), std::ios::app) << "more"; }
  void age(std::string const& name, std::chrono::seconds by) const {
    fs::last_write_time(path(name), fs::last_write_time(path(name)) - by);
  }
  [[nodiscard]] RunFiles folder_files() const { return RunFiles({folder_.string()}); }

  fs::path folder_;
};

TEST_F(FollowedFiles, SayNothingWhileNothingHappens) {
  RunFiles files = folder_files();
  EXPECT_FALSE(files.is_empty());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(files.look().is_any());
}

TEST_F(FollowedFiles, GrowOnceEachTime) {
  RunFiles files = folder_files();
  append("rank-0.stepscope");
  FileChange const change = files.look();
  EXPECT_TRUE(change.grew);
  EXPECT_TRUE(change.lost.empty());
  EXPECT_FALSE(files.look().is_any());
  append("rank-0.stepscope");
  EXPECT_TRUE(files.look().grew);
}

TEST_F(FollowedFiles, TellWhatHappenedToWhichOfThem) {
  RunFiles files({path("rank-0.stepscope")});
  fs::resize_file(path("rank-0.stepscope"), 4);
  EXPECT_EQ(files.look().lost, "rank-0.stepscope became shorter");
  EXPECT_FALSE(files.look().is_any()) << "it is reported once";

  write("other", "0123456789");
  fs::rename(path("other"), path("rank-0.stepscope"));
  EXPECT_EQ(files.look().lost, "rank-0.stepscope was replaced by another file");

  fs::remove(path("rank-0.stepscope"));
  EXPECT_EQ(files.look().lost, "rank-0.stepscope was removed");
  EXPECT_FALSE(files.look().is_any());
}

TEST_F(FollowedFiles, WrittenAnewInTheirLengthAreReportedWhenTheyDoNotGrow) {
  RunFiles files({path("rank-0.stepscope")});
  age("rank-0.stepscope", 5s);
  // A look may fall between the change of a recorded file's time and of its size.
  EXPECT_FALSE(files.look().is_any());
  EXPECT_EQ(files.look().lost, "rank-0.stepscope was written anew");

  age("rank-0.stepscope", 5s);
  EXPECT_FALSE(files.look().is_any());

  append("rank-0.stepscope");
  FileChange const change = files.look();
  EXPECT_TRUE(change.grew);
  EXPECT_TRUE(change.lost.empty());
}

TEST_F(FollowedFiles, ThatComeInTheFolderAreMoreOfTheRun) {
  RunFiles files = folder_files();
  // RunFiles sees a change of the folder only by a later time of it: set one.
  auto const touch = [&] { fs::last_write_time(folder_, fs::last_write_time(folder_) + 5s); };

  write(".stepscope-view.json", R"json({"kind": "stepscope view"})json");
  write("notes.txt", "no trace");
  touch();
  EXPECT_FALSE(files.look().is_any());

  write("rank-1.stepscope", "0123456789");
  touch();
  EXPECT_TRUE(files.look().grew);

  append("rank-1.stepscope");
  EXPECT_TRUE(files.look().grew);
}

TEST_F(FollowedFiles, ThatWereFoundElsewhereAreLookedAtToo) {
  fs::create_directory(path("inside"));
  write("inside/host.xplane.pb", "0123456789");
  RunFiles files = folder_files();
  files.add({path("inside/host.xplane.pb"), path("rank-0.stepscope"), path("not there")});
  append("inside/host.xplane.pb");
  EXPECT_TRUE(files.look().grew);
}

TEST_F(FollowedFiles, OfVeryManyAllAreLookedAtInTurn) {
  for (int i = 1; i < 600; ++i) write("rank-" + std::to_string(i) + ".stepscope", "x");
  RunFiles files = folder_files();
  append("rank-599.stepscope");
  int grew = 0;
  for (int look = 0; look < 3; ++look) grew += files.look().grew ? 1 : 0;
  EXPECT_EQ(grew, 1);
}

class FollowedRun : public FollowedFiles {
 protected:
  void begin(bool has_end = false) { following.begin(folder_files(), has_end, now); }
  /// The run has grown, and the viewer is reading it.
  void begin_reading() {
    begin();
    append("rank-0.stepscope");
    look_after(1100ms);
    following.reading_begins(now);
  }
  bool look_after(std::chrono::milliseconds wait) {
    now += wait;
    return following.look(now);
  }

  LiveFollowPolicy following;
  LiveFollowPolicy::Time now = LiveFollowPolicy::Clock::now();
};

TEST_F(FollowedRun, IsReadAgainWhenItHasGrown) {
  begin();
  EXPECT_EQ(following.recording(), Recording::kGoesOn);
  EXPECT_FALSE(look_after(1100ms));
  EXPECT_FALSE(following.wants_reading(now));

  append("rank-0.stepscope");
  EXPECT_TRUE(look_after(1100ms));
  EXPECT_TRUE(following.wants_reading(now));

  following.reading_begins(now);
  EXPECT_FALSE(following.wants_reading(now));

  now += 100ms;
  following.reading_ends(folder_files(), true, now);
  EXPECT_EQ(following.recording(), Recording::kFinished);
  EXPECT_FALSE(following.wants_reading(now + 1h));
}

TEST_F(FollowedRun, IsLookedAtOnceASecond) {
  begin();
  append("rank-0.stepscope");
  EXPECT_FALSE(look_after(500ms));
  EXPECT_TRUE(look_after(600ms));
}

TEST_F(FollowedRun, ThatTakesLongIsReadSeldom) {
  begin_reading();
  now += 3s;
  following.reading_ends(folder_files(), false, now);
  append("rank-0.stepscope");
  EXPECT_FALSE(look_after(5s));
  EXPECT_TRUE(following.has_more());
  EXPECT_FALSE(following.wants_reading(now));
  EXPECT_TRUE(look_after(8s));
  EXPECT_TRUE(following.wants_reading(now));
}

TEST_F(FollowedRun, WhatCameWhileItWasReadIsSeenAfterwards) {
  begin_reading();
  RunFiles files = folder_files();
  append("rank-0.stepscope");
  following.reading_ends(std::move(files), false, now);
  EXPECT_TRUE(look_after(5s));
  EXPECT_TRUE(following.wants_reading(now));
}

TEST_F(FollowedRun, WhatWasReadWhileNobodyCouldTakeItIsReadLater) {
  begin_reading();
  following.drop_reading();
  EXPECT_TRUE(following.has_more());
  EXPECT_TRUE(following.wants_reading(now + 1h));
}

TEST_F(FollowedRun, IsOnlyWatchedWhereFollowingIsOff) {
  begin();
  following.set_follows(false);
  append("rank-0.stepscope");
  look_after(1100ms);
  EXPECT_TRUE(following.has_more());
  EXPECT_FALSE(following.wants_reading(now));

  following.set_follows(true);
  EXPECT_TRUE(following.wants_reading(now));

  following.set_follows(false);
  following.end();
  EXPECT_FALSE(following.follows()) << "what a person chose holds for the next run";
  EXPECT_FALSE(following.is_watching());
}

TEST_F(FollowedRun, ToWhichNothingComesIsSilentUntilItDoes) {
  begin();
  EXPECT_FALSE(look_after(9s));
  EXPECT_TRUE(look_after(2s)) << "once: its words have changed";
  EXPECT_EQ(following.recording(), Recording::kSilent);
  EXPECT_FALSE(look_after(2s));
  append("rank-0.stepscope");
  EXPECT_TRUE(look_after(2s));
  EXPECT_EQ(following.recording(), Recording::kGoesOn);
}

TEST_F(FollowedRun, OfAProgramKilledLongAgoIsSilentFromTheBeginning) {
  age("rank-0.stepscope", 3600s);
  begin();
  EXPECT_EQ(following.recording(), Recording::kSilent);
}

TEST_F(FollowedRun, ThatWasWholeIsWatchedAndSaysNothing) {
  begin(true);
  EXPECT_EQ(following.recording(), Recording::kWhole);
  EXPECT_STREQ(words_of(following.recording(), true), "");
  EXPECT_FALSE(look_after(20s));
}

TEST_F(FollowedRun, ThatIsAnotherOneByNowIsReadOnlyOnRequest) {
  begin();
  fs::resize_file(path("rank-0.stepscope"), 1);
  EXPECT_TRUE(look_after(2s));
  EXPECT_TRUE(following.is_lost());
  EXPECT_NE(following.notice().find("rank-0.stepscope became shorter"), std::string::npos);

  append("rank-0.stepscope");
  look_after(2s);
  EXPECT_FALSE(following.wants_reading(now));

  following.reading_begins(now);
  EXPECT_TRUE(following.notice().empty());
  following.reading_ends(folder_files(), false, now);
  EXPECT_FALSE(following.is_lost());

  append("rank-0.stepscope");
  look_after(5s);
  EXPECT_TRUE(following.wants_reading(now));
}

TEST_F(FollowedRun, ThatCannotBeReadAgainIsNotTriedAgainAndAgain) {
  begin();
  append("rank-0.stepscope");
  look_after(2s);
  following.reading_begins(now);
  following.reading_fails("rank-0.stepscope: is hostile", now);
  EXPECT_NE(following.notice().find("hostile"), std::string::npos);
  append("rank-0.stepscope");
  look_after(20s);
  EXPECT_FALSE(following.wants_reading(now));
}

}  // namespace
}  // namespace stepscope::viewer
