// Summaries and views against a naive twin that looks at every event for every bin.
#include "trace/model/summary/track_pyramid.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::model {
namespace {

enum class Shape { kStream, kNested, kSamples };

/// One track with pauses and bursts.
Trace random_track(Shape shape, uint64_t seed, int events) {
  std::mt19937_64 random(seed);
  TraceBuilder builder;
  TrackId const track = builder.add_track(
      {.kind = shape == Shape::kStream ? TrackKind::kStream : TrackKind::kThread});
  EventBatch& batch = builder.events(track);

  int64_t time = -5000;
  for (int i = 0; i < events; ++i) {
    StringId const name = builder.intern("op " + std::to_string(random() % 20));
    auto const dur = static_cast<int64_t>(random() % 400);

    if (shape == Shape::kSamples) {
      batch.add(EventKind::kSample, time, 0, name, 0,
                SampleDetail{static_cast<double>(random() % 1000) - 500});
    } else if (shape == Shape::kNested) {
      batch.add(EventKind::kRange, time, random() % 50 == 0 ? dur * 100 : dur, name);
    } else if (random() % 4 == 0) {
      batch.add(EventKind::kMemcpy, time, dur, name, 0, CopyDetail{});
    } else {
      batch.add(EventKind::kKernel, time, dur, name, 0, KernelDetail{});
    }

    time += shape == Shape::kStream ? dur + static_cast<int64_t>(random() % 20)
                                    : static_cast<int64_t>(random() % 300);
    if (random() % 500 == 0) time += 1'000'000;  // a pause
  }

  return std::move(builder).finish();
}

TrackSummary summary_of(Trace const& trace) {
  return summarize(trace.events_of(TrackId{0}), trace.columns().depth);
}

/// |∪ of the class's events ∩ [begin, end)|, event by event.
int64_t naive_busy(Trace const& trace, OpClass op_class, int64_t begin, int64_t end) {
  int64_t busy = 0;
  int64_t covered = begin;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (kind_info(trace.kind(row)).op_class != op_class) continue;

    int64_t const from = std::max(trace.start(row), covered);
    int64_t const to = std::min(trace.end(row), end);
    if (to > from) {
      busy += to - from;
      covered = to;
    }
  }

  return busy;
}

class TrackPyramidTest : public ::testing::TestWithParam<Shape> {};

TEST_P(TrackPyramidTest, CountsTheStartsThatAViewCounts) {
  TrackPyramid const pyramid(summary_of(random_track(GetParam(), 7, 4000)));
  int64_t const first = pyramid.summary().begin.front() - 1000, last = pyramid.summary().end + 1000;
  std::mt19937_64 random(8);

  for (int i = 0; i < 300; ++i) {
    auto const span = static_cast<uint64_t>(last - first);
    int64_t const a = first + static_cast<int64_t>(random() % span),
                  b = first + static_cast<int64_t>(random() % span);
    int64_t const begin = std::min(a, b), end = std::max(a, b);
    EXPECT_EQ(pyramid.starts(begin, end), pyramid.view(begin, end, 1).front().starts);
  }

  EXPECT_EQ(TrackPyramid().starts(0, 10), 0U);
}

TEST_P(TrackPyramidTest, EveryBinHoldsWhatANaiveLookFinds) {
  Trace const trace = random_track(GetParam(), 1, 5000);
  TrackSummary const summary = summary_of(trace);
  ASSERT_GT(summary.size(), 30U);
  EXPECT_EQ(summary.begin.front(), trace.start(0));

  uint64_t all = 0;
  for (size_t bin = 0; bin < summary.size(); ++bin) {
    int64_t const begin = summary.begin[bin];
    int64_t const end = summary.bin_end(bin);
    ASSERT_LT(begin, end);
    for (size_t c = 0; c < kOpClassCount; ++c)
      ASSERT_EQ(summary.busy[c][bin], naive_busy(trace, static_cast<OpClass>(c), begin, end))
          << "bin " << bin << " class " << c;

    uint32_t starts = 0;
    uint16_t depth = 0;
    int64_t longest = 0;
    double low = 1e9, high = -1e9;

    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.start(row) < begin || trace.start(row) >= end) continue;
      ++starts;
      depth = std::max<uint16_t>(depth, static_cast<uint16_t>(trace.columns().depth[row] + 1));
      longest = std::max(longest, trace.end(row) - trace.start(row));
      if (trace.kind(row) != EventKind::kSample) continue;
      low = std::min(low, trace.detail<SampleDetail>(row).value);
      high = std::max(high, trace.detail<SampleDetail>(row).value);
    }

    ASSERT_EQ(summary.starts[bin], starts);
    ASSERT_EQ(summary.depth[bin], depth);
    ASSERT_EQ(summary.longest[bin], longest);
    if (GetParam() == Shape::kSamples && starts > 0) {
      ASSERT_EQ(summary.low[bin], low);
      ASSERT_EQ(summary.high[bin], high);
    }

    all += starts;
  }
  EXPECT_EQ(all, trace.event_count());
}

TEST_P(TrackPyramidTest, AViewAlongBinsIsExactAndOtherViewsLoseNothing) {
  Trace const trace = random_track(GetParam(), 2, 20'000);
  TrackPyramid const pyramid(summary_of(trace));
  TrackSummary const& summary = pyramid.summary();

  for (size_t first = 0; first + 40 < summary.size(); first += 7) {
    auto const view = pyramid.view(summary.begin[first], summary.begin[first + 40], 1);

    int64_t longest = 0;
    for (size_t bin = first; bin < first + 40; ++bin)
      longest = std::max(longest, summary.longest[bin]);
    ASSERT_EQ(view[0].longest_ns, longest);

    for (size_t c = 0; c < kOpClassCount; ++c)
      ASSERT_EQ(view[0].busy_ns[c], naive_busy(trace, static_cast<OpClass>(c), summary.begin[first],
                                               summary.begin[first + 40]));
  }

  auto const [begin, end] = trace.time_range();
  for (size_t const pixels : {size_t{1}, size_t{7}, size_t{1920}}) {
    auto const view = pyramid.view(begin - 777, end + 1234, pixels);

    uint64_t starts = 0;
    int64_t busy = 0;
    for (ViewBin const& bin : view) {
      starts += bin.starts;
      for (int64_t const part : bin.busy_ns) busy += part;
    }

    EXPECT_EQ(starts, trace.event_count());
    int64_t expected = 0;
    for (size_t c = 0; c < kOpClassCount; ++c)
      expected += naive_busy(trace, static_cast<OpClass>(c), begin, end);
    EXPECT_EQ(busy, expected);
  }
}

TEST_P(TrackPyramidTest, AViewIsOffByTheBinsThatItsBordersCutAtMost) {
  Trace const trace = random_track(GetParam(), 3, 20'000);
  TrackPyramid const pyramid(summary_of(trace));
  auto const [begin, end] = trace.time_range();
  auto const view = pyramid.view(begin, end, 50);

  for (int64_t i = 0; i < 50; ++i) {
    int64_t const from = begin + (end - begin) * i / 50;
    int64_t const to = begin + (end - begin) * (i + 1) / 50;
    for (size_t c = 0; c < kOpClassCount; ++c) {
      int64_t const exact = naive_busy(trace, static_cast<OpClass>(c), from, to);
      int64_t const tolerance = pyramid.resolution(from, from + 1) + pyramid.resolution(to, to + 1);
      EXPECT_NEAR(static_cast<double>(view[static_cast<size_t>(i)].busy_ns[c]),
                  static_cast<double>(exact), static_cast<double>(tolerance) + 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrackPyramidTest,
                         ::testing::Values(Shape::kStream, Shape::kNested, Shape::kSamples));

TEST(TrackSummary, APauseIsABinOfItsOwn) {
  TraceBuilder builder;
  EventBatch& batch = builder.events(builder.add_track({.kind = TrackKind::kStream}));

  for (int burst = 0; burst < 2; ++burst)
    for (int i = 0; i < 100; ++i)
      batch.add(EventKind::kKernel, burst * 1'000'000'000LL + i * 10, 10, StringId{0}, 0,
                KernelDetail{});

  TrackSummary const summary = summary_of(std::move(builder).finish());
  ASSERT_EQ(summary.size(), 3U);
  EXPECT_EQ(summary.starts, (std::vector<uint32_t>{100, 0, 100}));
  EXPECT_EQ(summary.begin, (std::vector<int64_t>{0, 1000, 1'000'000'000}));
  EXPECT_EQ(summary.busy[static_cast<size_t>(OpClass::kCompute)],
            (std::vector<int64_t>{1000, 0, 1000}));
}

TEST(TrackSummary, EventsOfOneMomentStayTogetherAndNoEventsGiveNoBins) {
  TraceBuilder builder;
  EventBatch& batch = builder.events(builder.add_track({}));
  for (int i = 0; i < 1000; ++i) batch.add(EventKind::kMark, 5, 0, StringId{0});
  TrackSummary const summary = summary_of(std::move(builder).finish());
  EXPECT_EQ(summary.starts, std::vector<uint32_t>{1000});
  EXPECT_EQ(summary.end, 6);
  TrackPyramid const empty(summarize({}, {}));
  EXPECT_EQ(empty.view(0, 100, 3)[1].starts, 0U);
  EXPECT_EQ(empty.resolution(0, 100), 0);
}

}  // namespace
}  // namespace stepscope::model
