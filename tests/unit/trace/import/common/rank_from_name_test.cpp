// Ranks by the names of files and folders, and the order of names.
#include "trace/import/common/rank_from_name.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::import {
namespace {

using ::testing::ElementsAre;

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
  EXPECT_EQ(rank_of_name("tp_rank_1.json"), std::nullopt);     // of a part of the job
  EXPECT_EQ(rank_of_name("dp_rank_0_global_rank_5.json"), 5);

  for (char const* const name :
       {"profile.rank.4.json", "trace rank 4.json", "trace (rank 4).json", "trace[rank4].json",
        "run-RANK=4.json", "1769071195.66-TP-4-DECODE.trace.json.gz"})
    EXPECT_EQ(rank_of_name(name), 4) << name;
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

}  // namespace
}  // namespace stepscope::import
