// Ranks by the names of files and folders, and the order of names.
#include "trace/import/rank_from_name.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::import {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RankFromName, TheRankMayBeInTheFilesName) {
  EXPECT_EQ(rank_of_name("run/rank-3.json.gz"), 3);
  EXPECT_EQ(rank_of_name("worker12.1694128201545.pt.trace.json"), 12);
  EXPECT_EQ(rank_of_name("trace_8_RANK_1.json"), 1);
  EXPECT_EQ(rank_of_name("trace_rank-07_step-100.json"), 7);
  EXPECT_EQ(rank_of_name("1769071195.66-TP-10.trace.json.gz"), 10);
  EXPECT_EQ(rank_of_name("resnet50-workers4.json"), std::nullopt);  // with 4 loaders
  EXPECT_EQ(rank_of_name("llama-tp8.json"), std::nullopt);          // of 8
  EXPECT_EQ(rank_of_name("frank.json"), std::nullopt);
  EXPECT_EQ(rank_of_name("rank99999999999.json"), std::nullopt);
  EXPECT_EQ(rank_of_name("local_rank_1.json"), std::nullopt);  // of its host
}

TEST(RankFromName, TheRankMayBeInTheFoldersName) {
  EXPECT_EQ(rank_of_name("run/rank_5/node01_100.1769071195000.pt.trace.json"), 5);
  EXPECT_EQ(rank_of_name("run/worker3/trace.json"), 3);
  EXPECT_EQ(rank_of_name("run/mp_rank_03/trace.json"), 3);
  EXPECT_EQ(rank_of_name("run/proc_10/trace.json"), 10);
  EXPECT_EQ(rank_of_name("run/preprocess_10/trace.json"), std::nullopt);
  EXPECT_EQ(rank_of_name("rank_5/rank2.json"), 2);
  EXPECT_EQ(rank_of_name("my-rank5-study/trace.json"), std::nullopt);
}

TEST(RankFromName, TheLastNumberOfADump) {
  EXPECT_EQ(number_at_end("dumps/nccl_trace_rank_container-node06_3"), 3);
  EXPECT_EQ(number_at_end("_dump_12.pkl.gz"), 12);
  EXPECT_EQ(number_at_end("dump"), std::nullopt);
}

TEST(RankFromName, NumbersAreOrderedAsNumbers) {
  std::vector<std::string> names = {"TP-10", "TP-9", "TP-1", "TP-09", "TP-x", "TP"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names, ElementsAre("TP", "TP-1", "TP-09", "TP-9", "TP-10", "TP-x"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(RankFromName, PlacesInAParallelJobCountTensorFirst) {
  std::vector<std::string> const grid = {"t_tp0_pp0.json", "t_tp0_pp1.json", "t_tp1_pp0.json", "t_tp1_pp1.json"};
  EXPECT_THAT(ranks_of_parallel_names(grid), ElementsAre(0, 2, 1, 3));
  // The tensor parts of all are different: they count through the job.
  std::vector<std::string> const attention = {"1.5-TP-0-DP-0.trace.json", "1.5-TP-1-DP-0.trace.json", "1.5-TP-2-DP-1.trace.json"};
  EXPECT_THAT(ranks_of_parallel_names(attention), ElementsAre(0, 1, 2));
  EXPECT_THAT(ranks_of_parallel_names(std::vector<std::string>{"a-dp-3.json", "a-dp-1.json"}), ElementsAre(3, 1));
}

TEST(RankFromName, NamesThatTellNoPlaceOrOneTwiceGiveNoRanks) {
  EXPECT_THAT(ranks_of_parallel_names(std::vector<std::string>{"a-tp8.json", "b-tp8.json"}), IsEmpty());
  EXPECT_THAT(ranks_of_parallel_names(std::vector<std::string>{"a-tp0.json", "b.json"}), IsEmpty());
  EXPECT_THAT(ranks_of_parallel_names(std::vector<std::string>{"http1.json", "http2.json"}), IsEmpty());
  EXPECT_THAT(ranks_of_parallel_names(std::vector<std::string>{"a-tp3.json"}), IsEmpty());
}

}  // namespace
}  // namespace stepscope::import
