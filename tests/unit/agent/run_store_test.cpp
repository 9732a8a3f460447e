// Runs are read once, again when their files change, and not kept without bound.
#include "agent/run_store.h"

#include <fstream>

#include "tests/unit/agent/served_runs.h"

namespace stepscope::agent {
namespace {

class RunStoreTest : public ServedRuns {
 protected:
  RunStore runs_{*ServedPaths::of({served_.string()})};
};

TEST_F(RunStoreTest, ARunIsReadOnceForManyQuestions) {
  auto const first = runs_.open("run.stepscope");
  ASSERT_TRUE(first) << first.error().message;
  auto const second = runs_.open((served_ / "run.stepscope").string());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(runs_.reads(), 1U);
}

TEST_F(RunStoreTest, AChangedFileIsReadAgain) {
  auto const before = runs_.open("run.stepscope");
  ASSERT_TRUE(before);
  std::filesystem::remove(served_ / "run.stepscope");
  write(served_ / "run.stepscope", {.steps = 9});
  auto const after = runs_.open("run.stepscope");
  ASSERT_TRUE(after);
  EXPECT_NE((*before)->analysis().steps.size(), (*after)->analysis().steps.size());
  EXPECT_EQ(runs_.reads(), 2U);
}

TEST_F(RunStoreTest, AFileThatComesToAFolderIsSeen) {
  ASSERT_TRUE(runs_.open(served_.string()));
  write(served_ / "second.stepscope", {.steps = 6});
  ASSERT_TRUE(runs_.open(served_.string()));
  EXPECT_EQ(runs_.reads(), 2U);
}

TEST_F(RunStoreTest, TheRunUsedLongestAgoIsDroppedFirst) {
  for (size_t i = 0; i <= RunStore::kMostRuns; ++i)
    write(served_ / fmt::format("{}.stepscope", i), {.steps = 2, .layers = 1});
  for (size_t i = 0; i < RunStore::kMostRuns; ++i)
    ASSERT_TRUE(runs_.open(fmt::format("{}.stepscope", i)));
  ASSERT_TRUE(runs_.open("0.stepscope"));
  EXPECT_EQ(runs_.reads(), RunStore::kMostRuns);

  ASSERT_TRUE(runs_.open(fmt::format("{}.stepscope", RunStore::kMostRuns)));
  ASSERT_TRUE(runs_.open("0.stepscope"));
  EXPECT_EQ(runs_.reads(), RunStore::kMostRuns + 1);
  ASSERT_TRUE(runs_.open("1.stepscope"));
  EXPECT_EQ(runs_.reads(), RunStore::kMostRuns + 2);
}

TEST_F(RunStoreTest, AFileThatIsNoTraceSaysWhatToDo) {
  std::ofstream(served_ / "notes.txt") << "no trace";
  auto const opened = runs_.open("notes.txt");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("notes.txt"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::agent
