// The collective benchmark: its sizes, its factors, its check and its errors. No time is asserted.
#include "workloads/micro/allreduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/model/collective_ops.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

AllReduceOptions quick(std::string const& op, std::string const& device) {
  AllReduceOptions o;
  o.op = op;
  o.device = device;
  o.max_bytes = 1 << 18;
  o.factor = 4;
  o.iterations = 3;
  o.warmup = 1;
  return o;
}

TEST(AllReduce, EveryOpIsRightForOneToFourDevices) {
  for (char const* op : {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "sendrecv"}) {
    for (int members = 1; members <= 4; ++members) {
      auto const rows = measure_all_reduce(quick(op, fmt::format("host:{}", members)), nullptr);
      ASSERT_TRUE(rows.has_value()) << rows.error().message;

      EXPECT_EQ(rows->size(), 5U);
      EXPECT_THAT(*rows,
                  Each(AllOf(Field(&AllReduceRow::wrong, 0U), Field(&AllReduceRow::checked, true))))
          << op << members;
    }
  }
}

TEST(AllReduce, SizesGrowByTheFactorAndAreRoundedDownToEqualParts) {
  AllReduceOptions o = quick("reduce_scatter", "host:3");
  o.min_bytes = 4;
  o.max_bytes = 100;
  o.factor = 2;

  auto const rows = measure_all_reduce(o, nullptr);
  ASSERT_TRUE(rows.has_value());

  std::vector<size_t> counts;
  for (AllReduceRow const& row : *rows) {
    counts.push_back(row.count);
    EXPECT_EQ(row.bytes, row.count * 4);
  }
  EXPECT_EQ(counts, (std::vector<size_t>{3, 6, 15}));  // of 1, 2, 4, 8, 16 floats
}

TEST(AllReduce, BandwidthsFollowFromSizeTimeAndFactor) {
  auto const rows = measure_all_reduce(quick("all_reduce", "host:4"), nullptr);
  ASSERT_TRUE(rows.has_value());
  for (AllReduceRow const& row : *rows) {
    EXPECT_NEAR(row.algbw_gbps * row.time_us * 1e3, static_cast<double>(row.bytes),
                1e-6 * static_cast<double>(row.bytes));
    EXPECT_DOUBLE_EQ(row.busbw_gbps, row.algbw_gbps * 1.5);
  }
}

TEST(AllReduce, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kAllReduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kBroadcast, 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kSend, 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kAllReduce, 1), 0.0);
}

/// The benchmark may not include the model: the analyzer must report the same bandwidth of its
/// trace.
TEST(AllReduce, BusFactorsAreThoseOfTheCollectiveTable) {
  for (CollectiveOp const op :
       {CollectiveOp::kAllReduce, CollectiveOp::kReduceScatter, CollectiveOp::kAllGather,
        CollectiveOp::kBroadcast, CollectiveOp::kSend}) {
    auto const in_table = static_cast<model::CollectiveOp>(op);
    for (uint32_t const members : {2U, 3U, 8U})
      EXPECT_EQ(bus_factor(op, members), model::bus_factor(in_table, members))
          << model::to_string(in_table);
  }
}

TEST(AllReduce, BadOptionsAreErrorsThatSayWhatToDo) {
  auto const error_of = [](auto change) {
    AllReduceOptions o = quick("all_reduce", "host:2");
    change(o);
    auto const rows = measure_all_reduce(o, nullptr);
    return rows ? std::string("none") : rows.error().message;
  };

  EXPECT_THAT(error_of([](auto& o) { o.op = "all_to_none"; }),
              AllOf(HasSubstr("all_to_none"), HasSubstr("sendrecv")));
  EXPECT_THAT(error_of([](auto& o) { o.factor = 1; }), HasSubstr("--factor"));
  EXPECT_THAT(error_of([](auto& o) { o.max_bytes = 8; }), HasSubstr("--max-bytes"));
  EXPECT_THAT(error_of([](auto& o) { o.min_bytes = 2; }), HasSubstr("--min-bytes"));
  EXPECT_THAT(error_of([](auto& o) { o.device = "host:0"; }), HasSubstr("host:0"));

  auto const too_large = [](auto& o) {
    o.memory_limit_mib = 1;
    o.max_bytes = 1 << 24;
  };
  EXPECT_THAT(error_of(too_large), AllOf(HasSubstr("out of memory"), HasSubstr("receive")));
}

TEST(AllReduce, TheCommandLineTakesSizesWithUnits) {
  std::vector<std::string> const good = {"--min-bytes",  "1K", "--max-bytes", "2K",
                                         "--iterations", "1",  "--no-check"};
  ::testing::internal::CaptureStdout();
  auto const code = run_all_reduce(good);
  std::string const table = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code.value_or(-1), 0);
  EXPECT_THAT(table, AllOf(HasSubstr("algbw"), HasSubstr(" 2048 "), HasSubstr("N/A")));
  std::vector<std::string> const bad = {"--min-bytes", "1Q"};
  EXPECT_FALSE(run_all_reduce(bad).has_value());
}

}  // namespace
}  // namespace stepscope::workloads
