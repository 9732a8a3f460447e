// One command at a time for an output, however the one before it ended.
#include "trace/base/files/lock_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/killed_child.h"
#include "tests/unit/trace/base/output_fixture.h"

namespace stepscope::base {
namespace {

using support::WaitingChild;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using Share = LockFile::Share;

class LockFileTest : public OutputFixture {
 protected:
  [[nodiscard]] Expected<LockFile> take(Share share = Share::kAlone) const {
    return LockFile::take(out(".x.lock"), "x", share, std::chrono::milliseconds(0));
  }
};

TEST_F(LockFileTest, TheSecondIsToldWhoHasIt) {
  WaitingChild child([&](auto const& wait) {
    auto const lock = take();
    if (lock) wait();
  });
  ASSERT_TRUE(child.is_there());

  auto const second = take();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("x: process " + std::to_string(child.pid()) + " on "),
                    HasSubstr("wait until it ends")));

  child.kill(SIGKILL);
  EXPECT_TRUE(take());
  EXPECT_THAT(names(), IsEmpty()) << "it goes with the last";
}

TEST_F(LockFileTest, IsSharedOnlyByThoseThatSaySo) {
  auto first = take(Share::kTogether);
  ASSERT_TRUE(first);

  {
    auto const second = take(Share::kTogether);
    EXPECT_TRUE(second);
    EXPECT_FALSE(take());
  }

  EXPECT_FALSE(take()) << "the first is still there";

  first = base::fail("gone");
  EXPECT_TRUE(take());
}

TEST_F(LockFileTest, APlantedOneIsRefusedAndNothingWrittenThere) {
  auto const refused = [&](std::string const& why) {
    auto const lock = take();
    EXPECT_FALSE(lock) << why;
    EXPECT_EQ(text_of("outside.txt"), "precious") << why;
    std::filesystem::remove(out(".x.lock"));
  };

  std::filesystem::create_symlink(path("outside.txt"), out(".x.lock"));
  refused("a link");
  std::filesystem::create_hard_link(path("outside.txt"), out(".x.lock"));
  refused("a second name");
  ASSERT_EQ(::mkfifo(out(".x.lock").c_str(), 0600), 0);
  refused("a pipe");

  EXPECT_TRUE(take());
}

TEST_F(LockFileTest, OfAnOutputStandsBesideItWhateverItsName) {
  EXPECT_EQ(LockFile::path_beside("a/b.json"), "a/.b.json.lock");
  EXPECT_EQ(LockFile::path_beside("b.json"), "./.b.json.lock");
  EXPECT_EQ(LockFile::path_beside("a/b/"), "a/.b.lock");
  std::string const long_name(255, 'n');
  EXPECT_TRUE(LockFile::take(LockFile::path_beside(out(long_name)), "x"));
}

}  // namespace
}  // namespace stepscope::base
