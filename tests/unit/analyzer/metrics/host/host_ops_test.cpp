// Idle time by cause and host op.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analyzer/analyze.h"
#include "analyzer/metrics/host/host_ops.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/random_run.h"

namespace stepscope::analyzer {
namespace {

TEST(HostOps, SumToTheGapsOfEachCause) {
  uint32_t const host_op_runs = support::kSanitized ? 200 : 1000;
  for (uint32_t seed = 0; seed < host_op_runs; ++seed) {
    Analysis const analysis = analyze(testing_support::RandomRun(seed).make());
    std::map<IdleCause, std::pair<uint64_t, int64_t>> of_gaps, of_rows;

    for (IdleGap const gap : analysis.gaps) {
      ++of_gaps[gap.cause].first;
      of_gaps[gap.cause].second += gap.when.length();
    }
    for (HostOpStats const& row : analysis.host_ops) {
      of_rows[row.cause].first += row.gaps;
      of_rows[row.cause].second += row.idle_ns;
    }

    ASSERT_EQ(of_rows, of_gaps) << "seed " << seed;
  }
}

TEST(HostOps, NameWhatKeptTheHost) {
  support::SyntheticOptions options;
  options.steps = 10;
  options.devices = 1;
  options.host_delay_ns = 3'000'000;

  Analysis const analysis = analyze(support::make_synthetic_run(options));
  ASSERT_FALSE(analysis.host_ops.empty());
  HostOpStats const& first = analysis.host_ops.front();
  EXPECT_EQ(first.cause, IdleCause::kLaunchBound);
  EXPECT_EQ(first.host_op, "python overhead");
  EXPECT_EQ(first.names, 1U);

  int64_t attributed = 0;
  uint64_t gaps = 0;
  model::Run const run = support::make_synthetic_run(options);
  for (IdleGap const gap : analysis.gaps) {
    if (gap.cause != first.cause || !gap.host_row.valid() ||
        run.ranks[0].trace.name(gap.host_row.value) != "python overhead")
      continue;
    attributed += gap.when.length();
    ++gaps;
  }

  EXPECT_EQ(first.idle_ns, attributed);
  EXPECT_EQ(first.gaps, gaps);
}

TEST(HostOps, BeyondTheMostAreSummedUpByCause) {
  using namespace model;
  TraceBuilder builder;
  TrackId const thread =
      builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});
  builder.events(stream).add(EventKind::kKernel, 0, 20, builder.intern("k"), 0, KernelDetail{});

  constexpr int64_t kOps = 130;
  // Each gap lies in a range of its own name; the longest come last.
  for (int64_t i = 0; i < kOps; ++i) {
    int64_t const end = (i + 1) * 1'000'000, length = 1000 + i;
    builder.events(stream).add(EventKind::kKernel, i * 1'000'000 + 20, 1'000'000 - length - 20,
                               builder.intern("k"), 0, KernelDetail{});
    builder.events(thread).add(EventKind::kRange, end - length, length,
                               builder.intern("op " + std::to_string(i)));
    builder.events(thread).add(EventKind::kLaunch, end, 10, builder.intern("launch"),
                               static_cast<uint64_t>(i) + 1);
    builder.events(stream).add(EventKind::kKernel, end + 10, 10, builder.intern("k"),
                               static_cast<uint64_t>(i) + 1, KernelDetail{});
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  Analysis const analysis = analyze(run);

  int64_t idle = 0, rows = 0;
  for (IdleGap const gap : analysis.gaps) idle += gap.when.length();
  HostOpStats const* rest = nullptr;
  for (HostOpStats const& row : analysis.host_ops) {
    rows += row.idle_ns;
    if (row.names > 1) rest = &row;
  }

  EXPECT_EQ(rows, idle);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->names, kOps - kMostHostOps);
  EXPECT_FALSE(rest->host_op);
  EXPECT_EQ(analysis.host_ops.front().host_op, "op 129");
}

}  // namespace
}  // namespace stepscope::analyzer
