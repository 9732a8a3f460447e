// Which GPUs each of several processes takes: one of its own in the order of local ranks, a share
// of all, or the ones that it names. Every process finds the same fault.
#include "workloads/backend/cuda/process_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::workloads::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GpuNames const kOwn = {{0}, false}, kAll = {{}, true};
std::vector<std::string> const kFour = {"a", "b", "c", "d"};

GpuNames named(std::vector<int> gpus) { return {std::move(gpus), true}; }

/// The GPUs of each rank; no two ranks share one.
std::vector<std::vector<int>> chosen(std::vector<GpuView> const& views) {
  auto const choices = choose_gpus(views);
  if (!choices) return {};
  EXPECT_FALSE(share_gpus(*choices));
  std::vector<std::vector<int>> gpus;
  for (GpuChoice const& choice : *choices) gpus.push_back(choice.gpus);
  return gpus;
}
std::string error_of(std::vector<GpuView> const& views) {
  auto const choices = choose_gpus(views);
  return choices ? "no error" : choices.error().message;
}

TEST(GpusOfProcesses, AreOneEachInTheOrderOfLocalRanks) {
  EXPECT_THAT(chosen({{kOwn, 0, kFour}, {kOwn, 1, kFour}, {kOwn, 2, kFour}}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  // Two machines, ranks dealt out in turns; and a launcher that numbers a machine's processes its
  // own way.
  std::vector<std::string> const other = {"e", "f"};
  EXPECT_THAT(chosen({{kOwn, 0, kFour}, {kOwn, 0, other}, {kOwn, 1, kFour}, {kOwn, 1, other}}),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(chosen({{kOwn, 1, kFour}, {kOwn, 0, kFour}}),
              ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(GpusOfProcesses, AreInTheOrderOfRanksWhereNoLauncherSaysMore) {
  EXPECT_THAT(chosen({{kOwn, 0, kFour}, {kOwn, 0, kFour}, {kOwn, 0, kFour}}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(GpusOfProcesses, AreTheFirstOfEachWhereTheLauncherHasDividedThem) {
  EXPECT_THAT(chosen({{kOwn, 0, {"a"}}, {kOwn, 1, {"b"}}, {kOwn, 2, {"c"}}}),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0)));
}

TEST(GpusOfProcesses, ThatAskForAllAreDividedEvenly) {
  EXPECT_THAT(chosen({{kAll, 0, kFour}, {kAll, 1, kFour}}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(chosen({{kAll, 0, {"a", "b"}}, {kAll, 1, {"c", "d"}}}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1)));
  EXPECT_THAT(error_of({{kAll, 0, kFour}, {kAll, 1, kFour}, {kAll, 2, kFour}}),
              AllOf(HasSubstr("3 processes"), HasSubstr("the same 4 GPUs"), HasSubstr("evenly")));
}

TEST(GpusOfProcesses, ThatAreNamedAreTaken) {
  EXPECT_THAT(chosen({{named({3, 1}), 0, kFour}, {named({0, 2}), 1, kFour}}),
              ElementsAre(ElementsAre(3, 1), ElementsAre(0, 2)));
}

TEST(GpusOfProcesses, ThatAllNameAreSharedAndEachKnowsWithHowMany) {
  // The third sees it under another number.
  auto const choices = choose_gpus(
      {{named({0}), 0, {"a", "b"}}, {named({1}), 1, {"a", "b"}}, {named({1}), 2, {"c", "a"}}});
  ASSERT_TRUE(choices.has_value()) << choices.error().message;
  EXPECT_THAT(*choices, ElementsAre(GpuChoice{{0}, {2}}, GpuChoice{{1}, {1}}, GpuChoice{{1}, {2}}));
  EXPECT_TRUE(share_gpus(*choices));
}

TEST(GpusOfProcesses, ThatAreFewerThanProcessesAreAnErrorThatSaysWhatToDo) {
  EXPECT_THAT(error_of({{kOwn, 0, {"a", "b"}}, {kOwn, 1, {"a", "b"}}, {kOwn, 2, {"a", "b"}}}),
              AllOf(HasSubstr("3 processes see the same 2 GPUs"), HasSubstr("mpirun -n 2"),
                    HasSubstr("--device cuda:0"), HasSubstr("--device host")));
  EXPECT_THAT(error_of({{kOwn, 0, {"a"}}, {kOwn, 1, {"a"}}}), HasSubstr("the same one GPU"));
}

TEST(GpusOfProcesses, ThatOneNamesAreNotGivenToAnother) {
  EXPECT_THAT(
      error_of({{kOwn, 0, kFour}, {named({0}), 1, kFour}}),
      AllOf(HasSubstr("cuda:0: ranks 0 and 1 would both have it"), HasSubstr("--device cuda")));
  EXPECT_THAT(error_of({{named({1, 1}), 0, kFour}, {named({2, 3}), 1, kFour}}),
              HasSubstr("cuda:1: rank 0 names it twice"));
}

TEST(GpusOfProcesses, MustBeThereAndAsManyForEach) {
  EXPECT_THAT(error_of({{named({0}), 0, kFour}, {named({4}), 1, kFour}}),
              HasSubstr("cuda:4: rank 1 sees no such GPU"));
  EXPECT_THAT(error_of({{named({0}), 0, kFour}, {named({1, 2}), 1, kFour}}),
              HasSubstr("rank 1 has 2 GPUs, rank 0 1"));
}

TEST(GpusOfProcesses, AreToldAsTheyAreSeen) {
  for (GpuView const& view :
       {GpuView{kOwn, 3, kFour}, GpuView{kAll, 0, {"a"}}, GpuView{named({2, 0}), 1, {}}}) {
    EXPECT_EQ(unpack(pack(view)), view) << pack(view);
  }
}

}  // namespace
}  // namespace stepscope::workloads::cuda
