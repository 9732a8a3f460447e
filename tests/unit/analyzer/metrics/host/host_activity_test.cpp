// The innermost event of a host thread compared with a look at every ns, for any rows that a trace
// can hold. Some ranges outlast the ranges around them.
#include "analyzer/metrics/host/host_activity.h"

#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

model::RankTrace random_thread(std::mt19937& random) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, model::StreamKind::kCompute, 0});

  constexpr std::array kKinds = {EventKind::kRange, EventKind::kPhase, EventKind::kLaunch,
                                 EventKind::kMark};
  for (size_t i = random() % 30; i-- > 0;)
    builder.events(thread).add(
        kKinds[random() % kKinds.size()], static_cast<int64_t>(random() % 100),
        static_cast<int64_t>(random() % 4 == 0 ? 0 : random() % 40), model::StringId{0});

  return {std::move(builder).finish(), 1000, ""};
}

/// ns of the window by row: each ns counts for the running row that began last.
std::map<uint32_t, int64_t> innermost_times(model::RankTrace const& rank, Interval window) {
  RowView const rows(rank);
  std::map<uint32_t, int64_t> times;

  for (int64_t ns = window.begin; ns < window.end; ++ns) {
    for (uint32_t row = rank.trace.event_count(); row-- > 0;) {
      if (rows.kind(row) == EventKind::kMark || rows.start(row) > ns || rows.end(row) <= ns)
        continue;

      ++times[row];
      break;
    }
  }
  return times;
}

TEST(HostCursor, NamesTheFunctionWhoseManyShortFramesFillTheTime) {
  // A window of 100 in a program of 1000: ten frames of 9 in "decode", which is in "main".
  model::TraceBuilder builder;
  model::TrackId const thread = builder.add_track({});
  model::StringId const outer = builder.intern("main"), decode = builder.intern("decode"),
                        frame = builder.intern("frame");

  builder.events(thread).add(EventKind::kRange, 0, 1000, outer);
  builder.events(thread).add(EventKind::kRange, 95, 110, decode);
  for (int64_t i = 0; i < 10; ++i)
    builder.events(thread).add(EventKind::kRange, 100 + 10 * i, i == 9 ? 9 : 4, frame);
  model::RankTrace const rank{std::move(builder).finish(), 0, ""};
  HostCursor cursor(rank, thread);

  model::EventId const whole = cursor.dominant({100, 200});
  ASSERT_TRUE(whole.valid());
  EXPECT_EQ(rank.trace.name(whole.value), "decode");
  EXPECT_EQ(rank.trace.name(HostCursor(rank, thread).dominant({190, 200}).value), "frame")
      << "it fills this time";
  EXPECT_EQ(rank.trace.name(HostCursor(rank, thread).dominant({40, 140}).value), "main")
      << "and decode less than half of this";
}

TEST(HostCursor, NamesWhatRanInnermostForLongest) {
  std::mt19937 random(8);
  for (int i = 0; i < 3000; ++i) {
    model::RankTrace const rank = random_thread(random);
    HostCursor cursor(rank, model::TrackId{0});
    for (int64_t at = 990; at < 1150;) {
      Interval const window{at, at + 1 + static_cast<int64_t>(random() % 20)};
      at = window.end + static_cast<int64_t>(random() % 3 == 0 ? random() % 60 : 0);
      std::map<uint32_t, int64_t> times = innermost_times(rank, window);
      int64_t most = 0;
      for (auto const& [row, ns] : times) most = std::max(most, ns);

      model::EventId const found = cursor.dominant(window);
      ASSERT_EQ(found.valid(), most > 0) << "case " << i << ", from " << window.begin;
      if (!found.valid()) continue;

      // If no row was innermost for half of the time, it is one that was open for more than half.
      RowView const rows(rank);
      int64_t const open = std::min(rows.end(found.value), window.end) -
                           std::max(rows.start(found.value), window.begin);
      if (2 * most < window.length() && 2 * open > window.length()) continue;
      ASSERT_EQ(times[found.value], most) << "case " << i << ", from " << window.begin;
    }
  }
}

TEST(HostActivity, AnAllocationOfAnotherThreadHoldsUpLongLaunches) {
  model::TraceBuilder builder;
  std::array<model::TrackId, 2> threads;
  for (model::TrackId& thread : threads)
    thread = builder.add_track(
        {model::TrackKind::kThread, "main", 1, -1, model::StreamKind::kCompute, 0});

  auto const allocate = [&](int64_t start_us, int64_t dur_us) {
    builder.events(threads[0])
        .add(EventKind::kMemory, start_us * 1000, dur_us * 1000, model::StringId{0}, 0,
             model::MemoryDetail{});
  };
  auto const launch = [&](int64_t start_us, int64_t dur_us) {
    builder.events(threads[1])
        .add(EventKind::kLaunch, start_us * 1000, dur_us * 1000, model::StringId{0});
  };

  allocate(0, 100), launch(60, 45);
  allocate(190, 20), launch(200, 50);   // most of this call is its own
  allocate(300, 100), launch(390, 15);  // an ordinary one
  allocate(500, 100), launch(510, 50);  // it did not wait until the end
  launch(690, 40), allocate(700, 30);   // it was there first

  model::RankTrace const rank{std::move(builder).finish(), 1000, ""};
  std::vector<std::vector<HostStep>> const no_steps(2);
  HostActivity host(rank, no_steps);
  EXPECT_EQ(host.thread(threads[1]).allocation, (model::IntervalSet{{61'000, 101'000}}));
}

}  // namespace
}  // namespace stepscope::analyzer
