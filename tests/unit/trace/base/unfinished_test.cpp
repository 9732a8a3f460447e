// What is unfinished goes when its process is killed or fails, and the process still ends by that
// signal.
#include "trace/base/files/unfinished.h"

#include <gmock/gmock.h>

#include "tests/support/killed_child.h"
#include "tests/unit/trace/base/output_fixture.h"
#include "trace/base/files/output_folder.h"
#include "trace/base/files/partial_file.h"
#include "trace/base/files/temporary.h"

namespace stepscope::base {
namespace {

using support::WaitingChild;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class UnfinishedNames : public OutputFixture {
 protected:
  /// One of everything.
  void make_all(std::function<void()> const& wait) const {
    remove_unfinished_on_signals();
    auto const file = PartialFile::create(out("named.csv"), PartialFile::Links::kFollow,
                                          PartialFile::Nameless::kNever);
    auto const nameless = PartialFile::create(out("nameless.csv"));
    auto const folder = TemporaryFolder::create(out());
    std::ofstream(folder->path_of("half.sqlite")) << "half";
    auto run = OutputFolder::take(out("new/run"));
    std::ofstream(*run->staging() + "/rank-0.stepscope") << "half";
    if (names().size() >= 3) wait();
  }
};

TEST_F(UnfinishedNames, EveryEndingSignalRemovesThemAndEndsTheProcess) {
  put("out/old.csv", "old");
  for (int const signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ}) {
    WaitingChild child([&](auto const& wait) { make_all(wait); });
    ASSERT_TRUE(child.is_there());
    EXPECT_THAT(names(), SizeIs(4)) << "the file, the folder, the run, and what was there";
    int const status = child.kill(signal);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal << " gave " << status;
    EXPECT_THAT(names(), ElementsAre("old.csv")) << signal;
  }
}

TEST_F(UnfinishedNames, OfAProcessThatFailsGoWithIt) {
  WaitingChild child([&](auto const& wait) {
    make_all([] {});
    wait();
  });
  ASSERT_TRUE(child.is_there());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(UnfinishedNames, OfAProcessThatWasKilledAtOnceAreHiddenAndRemovedByTheNextCommand) {
  WaitingChild child([&](auto const& wait) { make_all(wait); });
  ASSERT_TRUE(child.is_there());
  // A folder is searched once in a process, so each search has one of its own.
  WaitingChild too_early([&](auto const& wait) {
    remove_leftovers(out());
    wait();
  });
  ASSERT_TRUE(too_early.is_there());
  EXPECT_THAT(names(), SizeIs(3)) << "all of them are in use";
  child.kill(SIGKILL);
  EXPECT_THAT(names(), SizeIs(3));
  for (std::string const& name : names())
    EXPECT_TRUE(name == "new" || is_temporary_name(name)) << name;

  WaitingChild next([&](auto const& wait) {
    auto const file = PartialFile::create(out("x"));
    auto run = OutputFolder::take(out("new/run"));
    auto const staged = run->staging()->size();
    if (staged > 0) wait();
  });
  ASSERT_TRUE(next.is_there());
  EXPECT_THAT(names(), ElementsAre("new"));
  next.kill(SIGKILL);
}

TEST_F(UnfinishedNames, SignalsThatAreIgnoredStaySo) {
  WaitingChild child([&](auto const& wait) {
    ::signal(SIGHUP, SIG_IGN);
    make_all([&] {
      ::raise(SIGHUP);
      wait();
    });
  });
  ASSERT_TRUE(child.is_there());
  EXPECT_THAT(names(), SizeIs(3));
}

TEST_F(UnfinishedNames, SeveralRenamesInARowAreNotBrokenOff) {
  WaitingChild child([&](auto const& wait) {
    remove_unfinished_on_signals();
    auto run = OutputFolder::take(out());
    std::string const staging = *run->staging();
    for (char const* const name : {"a", "b"}) std::ofstream(staging + "/" + name) << name;

    // The signal comes while the old files are removed: before the first rename.
    [[maybe_unused]] auto const published = run->publish([](std::string_view) {
      ::raise(SIGTERM);
      return false;
    });
    wait();  // not reached
  });

  EXPECT_FALSE(child.is_there());
  int const status = child.kill(0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(UnfinishedNames, AForkThatIsKilledRemovesNothing) {
  WaitingChild child([&](auto const& wait) {
    make_all([&] {
      pid_t const fork = ::fork();
      if (fork == 0) ::raise(SIGTERM);
      ::waitpid(fork, nullptr, 0);
      wait();
    });
  });

  ASSERT_TRUE(child.is_there());
  EXPECT_THAT(names(), SizeIs(3));
}

TEST_F(UnfinishedNames, LinksInAFolderAreRemovedAndNotFollowed) {
  std::filesystem::create_directories(path("outside"));
  put("outside/file", "precious");

  {
    auto const folder = TemporaryFolder::create(out());
    ASSERT_TRUE(folder);
    std::filesystem::create_symlink(path("outside"), folder->path_of("folder"));
    std::filesystem::create_symlink(path("outside/file"), folder->path_of("file"));
    std::filesystem::create_directories(folder->path_of("deep/deeper"));
  }

  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(text_of("outside/file"), "precious");
}

TEST_F(UnfinishedNames, WhatOnlyLooksLikeALeftoverStays) {
  std::filesystem::create_symlink(path("outside.txt"), out(".stepscope-0123456789abcdef.tmp"));
  for (char const* const name :
       {".stepscope-0123456789abcde.tmp", ".stepscope-0123456789abcdeg.tmp", "my.tmp"})
    put(std::string("out/") + name, "mine");
  remove_leftovers(out());
  EXPECT_THAT(names(), SizeIs(4));
  EXPECT_EQ(text_of("outside.txt"), "precious");
}

}  // namespace
}  // namespace stepscope::base
