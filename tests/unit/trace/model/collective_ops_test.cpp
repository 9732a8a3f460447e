// A collective operation is one row: what the recipe in CONTRIBUTING.md promises, and what each row
// has to hold.
#include "trace/model/collective_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/details.h"

namespace stepscope::model {
namespace {

/// "…CollectiveOp::kAllReduce" for an enumerator; a number in brackets for a value that has none.
template <CollectiveOp op>
constexpr bool is_enumerator() {
  std::string_view const text = __PRETTY_FUNCTION__;
  return text.find("CollectiveOp::k") != std::string_view::npos;
}

template <size_t... numbers>
constexpr bool are_enumerators(std::index_sequence<numbers...>) {
  return (is_enumerator<static_cast<CollectiveOp>(numbers)>() && ...);
}

TEST(CollectiveOps, EveryEnumeratorHasItsRow) {
  EXPECT_TRUE(are_enumerators(std::make_index_sequence<kCollectiveOpCount>()));
  EXPECT_FALSE(is_enumerator<static_cast<CollectiveOp>(kCollectiveOpCount)>())
      << "an enumerator without a row";
  for (size_t i = 0; i < kCollectiveOpCount; ++i)
    EXPECT_EQ(kCollectiveTable[i].op, static_cast<CollectiveOp>(i));
}

TEST(CollectiveOps, NamesAreUniqueAndLeadBackToTheOperation) {
  std::set<std::string> names;
  for (CollectiveOpInfo const& row : kCollectiveTable) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_collective_op(to_string(row.op)), row.op) << row.name;
    EXPECT_STRNE(row.torch_name, "") << row.name;
    EXPECT_STRNE(row.nccl_call, "") << row.name;
  }
  EXPECT_EQ(find_collective_op("gather_scatter"), std::nullopt);
  EXPECT_EQ(find_collective_op(""), std::nullopt);
}

TEST(CollectiveOps, NumbersOfNewerFilesAreUnknownOperations) {
  auto const newer = static_cast<CollectiveOp>(200);
  EXPECT_STREQ(to_string(newer), "unknown");
  EXPECT_FALSE(is_point_to_point(newer));
  EXPECT_EQ(bus_factor(newer, 8), 1);
}

/// Files, JSON and SQL keep these for ever.
TEST(CollectiveOps, NamesStayWhatFilesSay) {
  std::vector<std::string> names;
  for (CollectiveOpInfo const& row : kCollectiveTable) names.emplace_back(row.name);
  EXPECT_THAT(names, ::testing::ElementsAre("unknown", "all_reduce", "reduce_scatter", "all_gather",
                                            "broadcast", "reduce", "all_to_all", "send", "receive",
                                            "barrier"));
}

TEST(CollectiveOps, BusFactorsFollowTheTraffic) {
  EXPECT_EQ(bus_factor(CollectiveOp::kAllReduce, 8), 1.75);
  EXPECT_EQ(bus_factor(CollectiveOp::kAllToAll, 4), 0.75);
  EXPECT_EQ(bus_factor(CollectiveOp::kBroadcast, 4), 1);
  for (CollectiveOpInfo const& row : kCollectiveTable)
    EXPECT_EQ(bus_factor(row.op, 0), 1) << row.name << ", of unknown size";
}

TEST(CollectiveOps, TheWholeMessageIsInTheLargerBuffer) {
  for (CollectiveOpInfo const& row : kCollectiveTable) {
    bool const shrinks = row.whole == WholeMessage::kInInput,
               grows = row.whole == WholeMessage::kInOutput;
    EXPECT_EQ(message_size(row.op, 8, 2), grows ? 2U : 8U) << row.name;
    EXPECT_EQ(message_size(row.op, 2, 8), shrinks ? 2U : 8U) << row.name;
  }
}

TEST(CollectiveOps, OnlyABarrierKnowsThatItMovesNothing) {
  for (CollectiveOpInfo const& row : kCollectiveTable) {
    EXPECT_EQ(is_message_size_known(row.op, 0), row.op == CollectiveOp::kBarrier) << row.name;
    EXPECT_TRUE(is_message_size_known(row.op, 1)) << row.name;
  }
}

}  // namespace
}  // namespace stepscope::model
