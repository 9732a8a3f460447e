// Bus bandwidth of single collectives as points of a chart.
#include "analyzer/metrics/communication/bandwidth_series.h"

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

CollectiveStats all_reduce(uint64_t communicator, uint64_t bytes, double bus_gbps) {
  CollectiveStats collective;
  collective.communicator = communicator;
  collective.op = model::CollectiveOp::kAllReduce;
  collective.bytes = bytes;
  collective.expected_participants = 2;
  collective.transfer_ns = 100;
  collective.busbw_gbps = bus_gbps;
  return collective;
}

TEST(BandwidthSeries, HasASeriesForEachCommunicator) {
  Analysis analysis;
  analysis.collectives = {all_reduce(7, 1000, 5), all_reduce(3, 10, 1), all_reduce(7, 4000, 8)};
  analysis.collectives.push_back(all_reduce(7, 2000, 6));
  analysis.collectives.back().busbw_gbps.reset();

  auto const series = bandwidth_series(analysis, 100);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].communicator, 3U);
  ASSERT_EQ(series[1].points.size(), 2U);
  EXPECT_EQ(series[1].points[1].bytes, 4000.0);
  EXPECT_EQ(series[1].points[1].bus_gbps, 8.0);
  EXPECT_TRUE(series[1].fit.empty());
}

TEST(BandwidthSeries, DrawsTheFitBetweenTheSmallestAndTheLargestMessage) {
  Analysis analysis;
  analysis.collectives = {all_reduce(7, 1000, 5), all_reduce(7, 4000, 8)};
  LinkFit link;
  link.communicator = 7;
  link.op = model::CollectiveOp::kAllReduce;
  link.beta_gbps = 10;
  analysis.links = {link};

  auto const series = bandwidth_series(analysis, 100);
  ASSERT_EQ(series.size(), 1U);
  ASSERT_FALSE(series[0].fit.empty());
  EXPECT_EQ(series[0].fit.front().bytes, 1000.0);
  EXPECT_NEAR(series[0].fit.back().bytes, 4000, 1e-6);
  // Without a fixed cost every message has the full bandwidth; the bus factor of two ranks is 1.
  EXPECT_NEAR(series[0].fit.front().bus_gbps, 10, 1e-9);
}

TEST(BandwidthSeries, ThinsLongSeriesEvenly) {
  Analysis analysis;
  for (uint64_t i = 0; i < 100; ++i) analysis.collectives.push_back(all_reduce(7, i + 1, 1));

  auto const series = bandwidth_series(analysis, 10);
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].points.size(), 10U);
  EXPECT_EQ(series[0].points[1].bytes, 11.0);
}

}  // namespace
}  // namespace stepscope::analyzer
