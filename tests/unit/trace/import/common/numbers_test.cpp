// What the numbers in the names of a run's files and folders count.
#include "trace/import/common/numbers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::import {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int32_t> ranks_of(std::vector<std::string> const& paths, int32_t world_size = 0) {
  return ranks_of_names(paths, world_size).ranks;
}
/// The names that a pattern gives for the ranks 0, 10 and 2.
std::vector<int32_t> ranks_of_pattern(std::string const& pattern) {
  std::vector<std::string> paths;
  for (int const rank : {0, 10, 2})
    paths.push_back("/data/job7/" + fmt::format(fmt::runtime(pattern), rank));
  return ranks_of(paths);
}

TEST(NameNumbers, TheNumberThatDiffersIsTheRank) {
  for (char const* const pattern : {"{}.json",
                                    "trace_{}.json",
                                    "trace.{}.json",
                                    "trace_r{}.json",
                                    "gpu{}.json",
                                    "gpu{}.pt.trace.json",
                                    "cuda_{}.json",
                                    "host-12_{}.json",
                                    "slurm-1234_{}.json",
                                    "node3-rank{}.json",
                                    "rank{}_of_12.json",
                                    "trace-{}-of-16.json",
                                    "{}_rank.json",
                                    "local_rank_{}.json",
                                    "node0_local_rank{}.json",
                                    "step_100_rank_{}.json",
                                    "rank_{}_step_100.json",
                                    "ep{}.json",
                                    "rank{:05d}.json",
                                    "worker{}.1769071195000.pt.trace.json",
                                    "gpu{}/trace.json",
                                    "worker_{}/profile/trace.json",
                                    "rank{}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
                                    "1769071195.66-TP-{}-DP-0-PP-0-EP-0.trace.json.gz"})
    EXPECT_THAT(ranks_of_pattern(pattern), ElementsAre(0, 10, 2)) << pattern;
}

TEST(NameNumbers, AWordTellsMoreThanANumberAlone) {
  EXPECT_TRUE(ranks_of_names(std::vector<std::string>{"rank4.json", "rank7.json"}, 0).is_known);
  EXPECT_FALSE(ranks_of_names(std::vector<std::string>{"0.json", "1.json"}, 0).is_known);
  EXPECT_THAT(ranks_of({"rank4.json", "rank7.json"}), ElementsAre(4, 7));
  EXPECT_THAT(ranks_of({"r0008.json", "r0012.json"}), ElementsAre(8, 12));
  EXPECT_THAT(ranks_of({"0_rank4.json", "1_rank7.json"}), ElementsAre(4, 7));
}

TEST(NameNumbers, ExtensionsAndOtherTextsMayDiffer) {
  EXPECT_THAT(ranks_of({"rank0.json", "rank10.json.gz", "rank2.pt.trace.json"}),
              ElementsAre(0, 10, 2));
  EXPECT_THAT(ranks_of({"rank_0/hosta_100.1700000000000.pt.trace.json",
                        "rank_1/hostb_77.1700000000001.pt.trace.json"}),
              ElementsAre(0, 1));
}

TEST(NameNumbers, NumbersThatAreNoRanksTellNothing) {
  EXPECT_THAT(ranks_of({"host_1000.json", "host_1001.json"}), IsEmpty()) << "process ids";
  EXPECT_THAT(ranks_of({"1.json", "2.json"}), IsEmpty()) << "they may count from 1";
  EXPECT_THAT(ranks_of({"1.json", "2.json"}, 4), ElementsAre(1, 2)) << "not in a job of four";

  EXPECT_THAT(ranks_of({"1700000000000.json", "1700000000001.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"before.json", "after.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"a_0.json", "b_0.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"step_0.json", "step_10.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"rank99999999.json", "rank1.json"}), IsEmpty());

  EXPECT_THAT(ranks_of({"node.json", "node.json"}), IsEmpty()) << "two processes of a file";
  EXPECT_THAT(ranks_of({"0.json"}), IsEmpty());
}

TEST(NameNumbers, PlacesInAParallelJobCountTensorFirst) {
  EXPECT_THAT(ranks_of({"t_tp0_pp0.json", "t_tp0_pp1.json", "t_tp1_pp0.json", "t_tp1_pp1.json"}),
              ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(ranks_of({"dp_rank_0_tp_rank_0.json", "dp_rank_0_tp_rank_1.json",
                        "dp_rank_1_tp_rank_0.json", "dp_rank_1_tp_rank_1.json"}),
              ElementsAre(0, 1, 2, 3));

  // The tensor parts of all are different: they count through the job.
  EXPECT_THAT(ranks_of({"1.5-TP-0-DP-0.trace.json", "1.5-TP-1-DP-0.trace.json",
                        "1.5-TP-2-DP-1.trace.json"}),
              ElementsAre(0, 1, 2));

  EXPECT_THAT(ranks_of({"a-dp-3.json", "a-dp-1.json"}), ElementsAre(3, 1));
  EXPECT_THAT(ranks_of({"a-tp8.json", "b-tp8.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"a-tp0.json", "b.json"}), IsEmpty());
  EXPECT_THAT(ranks_of({"http1.json", "http2.json"}), IsEmpty());
}

TEST(NameNumbers, APlaceThatDiffersWinsOverARankThatDoesNot) {
  std::vector<std::string> paths;
  for (int tp = 0; tp < 12; ++tp)
    paths.push_back(fmt::format("dp0_pp0_tp{}_dcp0_ep0_rank0.pt.trace.json.gz", tp));
  EXPECT_THAT(ranks_of(paths), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(ranks_of({"gpu0_rank0.json", "gpu1_rank0.json"}), ElementsAre(0, 1));
}

TEST(NameNumbers, DevicesOfNodesCountNodeByNode) {
  EXPECT_THAT(
      ranks_of({"node0_gpu0.json", "node0_gpu1.json", "node1_gpu0.json", "node1_gpu1.json"}),
      ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ranks_of({"node_0/local_rank_1.json", "node_1/local_rank_0.json"}),
              ElementsAre(1, 2));

  EXPECT_THAT(ranks_of({"ip-10-7_gpu0.json", "ip-10-7_gpu1.json", "ip-10-9_gpu0.json"}),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(ranks_of({"node12_0.json", "node12_1.json", "node13_2.json", "node13_3.json"}),
              ElementsAre(0, 1, 2, 3));

  // Each host of a job of 16 on two has 8.
  EXPECT_THAT(ranks_of({"node0_gpu0.json", "node0_gpu1.json", "node1_gpu0.json"}, 16),
              ElementsAre(0, 1, 8));
}

TEST(NameNumbers, WindowsOfOneProcessHaveOneRank) {
  EXPECT_THAT(
      ranks_of({"gpu0.1700000000000.json", "gpu0.1700000060000.json", "gpu1.1700000000000.json"}),
      ElementsAre(0, 0, 1));
  EXPECT_THAT(ranks_of({"rank0_step10.json", "rank0_step20.json", "rank1_step10.json"}),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(ranks_of({"rank3_step10.json", "rank3_step20.json"}), ElementsAre(3, 3));
}

FoldersAre folders(std::vector<std::string> const& names) { return meaning_of_folders(names); }

TEST(NameNumbers, FoldersOfRanksAndOfCapturesAreToldApart) {
  using enum FoldersAre;

  for (char const* const word :
       {"rank", "rank_", "gpu", "GPU", "device_", "worker_", "node_", "local_rank_", "npu-", "tp"})
    EXPECT_EQ(folders({fmt::format("{}0", word), fmt::format("{}1", word)}), kRanks) << word;

  EXPECT_EQ(folders({"rank0_ascend_pt", "rank1_ascend_pt"}), kRanks);
  EXPECT_EQ(folders({"h_100_20240101120000123_ascend_pt", "h_101_20240101120000125_ascend_pt"}),
            kRanks);
  EXPECT_EQ(folders({"node0_gpu0", "node0_gpu1", "node1_gpu0"}), kRanks);
  EXPECT_EQ(folders({"rank0_hosta", "rank1_hostb"}), kRanks);

  for (char const* const word :
       {"iteration_", "step", "epoch", "window_", "run", "cycle_", "profile_"})
    EXPECT_EQ(folders({fmt::format("{}10", word), fmt::format("{}20", word)}), kCaptures) << word;

  EXPECT_EQ(folders({"20240101_120000", "20240102_120000"}), kCaptures);
  EXPECT_EQ(folders({"rank0_step10", "rank0_step20"}), kCaptures);

  EXPECT_EQ(folders({"0", "1", "10", "2"}), kMaybeRanks);
  EXPECT_EQ(folders({"0", "100", "200"}), kCaptures);

  EXPECT_EQ(folders({"before", "after"}), kOthers);
}

}  // namespace
}  // namespace stepscope::import
