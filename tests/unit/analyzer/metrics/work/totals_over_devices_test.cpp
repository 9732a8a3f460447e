// Rows that devices share by name or direction, added up.
#include "analyzer/metrics/work/totals_over_devices.h"

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

TEST(OpTotals, AddUpRangesAndPutTheRestLast) {
  auto const row = [](int32_t device, OpStats::What what, char const* name, int64_t total_ns) {
    OpStats op;
    op.ref = {0, device};
    op.what = what;
    op.name = name;
    op.count = 1;
    op.total_ns = total_ns;
    return op;
  };
  Analysis analysis;
  analysis.ops = {row(0, OpStats::What::kOutside, "", 60), row(0, OpStats::What::kRange, "a", 10),
                  row(1, OpStats::What::kRange, "a", 20), row(1, OpStats::What::kRange, "b", 10)};

  auto const totals = op_totals(analysis, OpStats::Level::kOp);
  ASSERT_EQ(totals.size(), 3U);
  EXPECT_EQ(totals[0].first->name, "a");
  EXPECT_EQ(totals[0].total_ns, 30);
  EXPECT_EQ(totals[0].share, 0.3);
  EXPECT_EQ(totals[0].most_on.device, 1);
  EXPECT_EQ(totals[0].most_ns, 20);
  EXPECT_EQ(totals[0].devices, 2U);
  EXPECT_EQ(totals[2].first->what, OpStats::What::kOutside);
}

TEST(CopyTotals, HaveTheBandwidthOfTheSums) {
  CopyStats copy;
  copy.direction = model::CopyDirection::kHostToDevice;
  copy.count = 1;
  copy.bytes = 100;
  copy.total_ns = 10;
  Analysis analysis;
  analysis.copies = {copy, copy};
  analysis.copies[1].bytes = 300;
  analysis.copies[1].pageable_count = 1;

  auto const totals = copy_totals(analysis);
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].count, 2U);
  EXPECT_EQ(totals[0].gbps, 20.0);
  EXPECT_EQ(totals[0].pageable_count, 1U);
  EXPECT_FALSE(totals[0].pageable_bytes);
}

TEST(PhaseTotals, PutNamedPhasesWithMostDeviceTimeFirst) {
  auto const row = [](char const* name, std::optional<int64_t> busy_ns) {
    PhaseStats phase;
    phase.name = name;
    phase.count = 1;
    phase.busy_ns = busy_ns;
    return phase;
  };
  Analysis analysis;
  analysis.phases = {row("forward", 5), row("", std::nullopt), row("backward", 4),
                     row("backward", 3)};

  auto const totals = phase_totals(analysis);
  ASSERT_EQ(totals.size(), 3U);
  EXPECT_EQ(totals[0].name, "backward");
  EXPECT_EQ(totals[0].busy_ns, 7);
  EXPECT_EQ(totals[0].count, 2U);
  EXPECT_EQ(totals[2].name, "");
}

}  // namespace
}  // namespace stepscope::analyzer
