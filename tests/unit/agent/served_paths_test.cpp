// An agent reads what it was given, whatever path, link or spelling it tries.
#include "agent/served_paths.h"

#include <sys/stat.h>

#include "tests/unit/agent/served_runs.h"

namespace stepscope::agent {
namespace {

namespace fs = std::filesystem;

class ServedPathsTest : public ServedRuns {
 protected:
  [[nodiscard]] ServedPaths served() const { return *ServedPaths::of({served_.string()}); }
};

TEST_F(ServedPathsTest, ARunIsFoundByItsFullPathAndByItsNameInAServedFolder) {
  std::string const run = (served_ / "run.stepscope").string();
  EXPECT_EQ(*served().find(run), run);
  EXPECT_EQ(*served().find("run.stepscope"), run);
  EXPECT_EQ(*served().find(served_.string()), served_.string());
}

TEST_F(ServedPathsTest, PathsThatLeadOutAreRefusedWhetherTheyAreThereOrNot) {
  std::string const there = (outside_ / "secret.stepscope").string();
  std::string const absent = (outside_ / "absent.stepscope").string();
  fs::create_symlink(outside_ / "secret.stepscope", served_ / "link.stepscope");
  fs::create_directory_symlink(outside_, served_ / "folder");

  for (std::string const& path :
       {there, absent, std::string("../outside/secret.stepscope"),
        (served_ / "../outside/secret.stepscope").string(), std::string("link.stepscope"),
        std::string("folder/secret.stepscope"), base_.string(), std::string("/"),
        served_.string() + "-beside"}) {
    auto const found = served().find(path);
    ASSERT_FALSE(found) << path;
    EXPECT_NE(found.error().message.find("is not within the served paths"), std::string::npos)
        << found.error().message;
  }
}

TEST_F(ServedPathsTest, AMissingFileInsideIsNamedAsSuch) {
  auto const found = served().find("absent.stepscope");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no such file"), std::string::npos);
  EXPECT_FALSE(served().find(""));
  EXPECT_FALSE(served().find(std::string("run.stepscope\0x", 15)));
}

TEST_F(ServedPathsTest, AFolderWithALinkThatLeadsOutIsNoRun) {
  ASSERT_TRUE(served().files_below(served_.string()));
  fs::create_symlink(outside_ / "secret.stepscope", served_ / "rank-1.stepscope");
  auto const files = served().files_below(served_.string());
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("rank-1.stepscope: this link leads out"), std::string::npos);
}

TEST_F(ServedPathsTest, ALinkWithinTheServedPathsIsAllowed) {
  fs::create_symlink(served_ / "run.stepscope", served_ / "again.stepscope");
  EXPECT_TRUE(served().files_below(served_.string()));
  EXPECT_EQ(*served().find("again.stepscope"), (served_ / "run.stepscope").string());
}

TEST_F(ServedPathsTest, AServedFileServesNothingBesideIt) {
  auto const served = ServedPaths::of({(outside_ / "secret.stepscope").string()});
  ASSERT_TRUE(served);
  EXPECT_TRUE(served->find((outside_ / "secret.stepscope").string()));
  EXPECT_FALSE(served->find(outside_.string()));
}

TEST_F(ServedPathsTest, APipeIsNoRun) {
  ASSERT_EQ(::mkfifo((served_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(served().find("pipe"));
}

TEST_F(ServedPathsTest, APathThatIsNotThereCannotBeServed) {
  EXPECT_FALSE(ServedPaths::of({(base_ / "absent").string()}));
}

}  // namespace
}  // namespace stepscope::agent
