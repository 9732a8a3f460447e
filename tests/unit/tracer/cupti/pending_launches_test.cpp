#include "tracer/cupti/decode/pending_launches.h"

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

TEST(PendingLaunches, end_with_their_op_whichever_record_comes_first) {
  PendingLaunches launches;
  launches.add_launch(1);
  launches.add_op(2, false);
  launches.end_round();
  EXPECT_EQ(launches.count(), 1U);
  launches.add_op(1, false);
  launches.add_launch(2);
  launches.end_round();
  EXPECT_EQ(launches.count(), 0U);
}

TEST(PendingLaunches, are_one_whether_the_runtime_or_the_driver_or_both_tell_of_it) {
  PendingLaunches launches;
  launches.add_op(1, false);
  launches.add_launch(1);
  launches.add_launch(1);
  launches.end_round();
  EXPECT_EQ(launches.count(), 0U);
}

TEST(PendingLaunches, of_graphs_end_when_no_node_came_for_two_rounds) {
  PendingLaunches launches;
  launches.add_launch(1);
  for (int node = 0; node < 5; ++node) {
    launches.add_op(1, true);
    launches.end_round();
    EXPECT_EQ(launches.count(), 1U) << node;
  }

  launches.end_round();
  EXPECT_EQ(launches.count(), 1U);
  launches.end_round();
  EXPECT_EQ(launches.count(), 0U);
}

TEST(PendingLaunches, are_forgotten_however_long_it_goes_on) {
  PendingLaunches launches;
  uint32_t correlation = 0;
  constexpr int kRounds = 2000, kOps = 20;

  for (int round = 0; round < kRounds; ++round) {
    for (int op = 0; op < kOps; ++op) {
      launches.add_launch(++correlation);
      launches.add_op(correlation, op == 0);
      launches.add_op(1'000'000 + correlation, false);  // its launch was before the window
    }
    launches.add_launch(++correlation);  // captured into a graph: no op ever
    launches.end_round();
  }

  EXPECT_LT(launches.size(), 1000U);
}

}  // namespace
}  // namespace stepscope::tracer
