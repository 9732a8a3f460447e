// Compares the grids of an out-of-core run with naive looks at every bin and every gap.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "trace/model/build/trace_builder.h"
#include "viewer/event_store/out_of_core/grids/density.h"
#include "viewer/event_store/out_of_core/grids/gap_grid.h"
#include "viewer/scene/track_events.h"

namespace stepscope::viewer {
namespace {

/// A stream of kernels with pauses.
model::TrackSummary stream_summary(uint32_t seed, int64_t begin, int events) {
  std::mt19937 random(seed);
  model::TraceBuilder builder;
  auto const track = builder.add_track({.kind = model::TrackKind::kStream});
  auto const name = builder.intern("k");

  for (int64_t i = 0, time = begin; i < events; ++i) {
    int64_t const dur = 100 + static_cast<int64_t>(random() % 900);
    if (random() % 5 == 0) {
      builder.events(track).add(model::EventKind::kMemcpy, time, dur, name, 0, model::CopyDetail{});
    } else {
      builder.events(track).add(model::EventKind::kKernel, time, dur, name, 0,
                                model::KernelDetail{});
    }
    time += dur + static_cast<int64_t>(random() % ((i / 5000) % 2 == 0 ? 100 : 5000));
  }

  model::Trace const trace = std::move(builder).finish();
  return model::summarize(trace.events_of(model::TrackId{0}), trace.columns().depth);
}

/// Spreads every bin evenly over the pixels that it touches.
std::vector<DensityColumn> naive_columns(model::TrackSummary const& summary, double begin,
                                         double pixel, size_t count) {
  std::vector<DensityColumn> columns(count);
  for (size_t i = 0; i < count; ++i) {
    double const from = begin + pixel * static_cast<double>(i), until = from + pixel;
    for (size_t bin = 0; bin < summary.size(); ++bin) {
      auto const first = static_cast<double>(summary.begin[bin]),
                 last = static_cast<double>(summary.bin_end(bin));
      double const inside = std::min(until, last) - std::max(from, first);
      if (inside <= 0) continue;

      for (size_t c = 0; c < model::kOpClassCount; ++c)
        columns[i].busy[c] += static_cast<float>(static_cast<double>(summary.busy[c][bin]) *
                                                 inside / (last - first) / pixel);
      columns[i].starts += static_cast<float>(summary.starts[bin] * inside / (last - first));
      columns[i].depth = std::max(columns[i].depth, summary.depth[bin]);
      columns[i].known = true;
    }
  }

  return columns;
}

double cell_width(model::TrackSummary const& summary) {
  size_t const cells = std::max<size_t>(std::bit_ceil(summary.size()), 256);
  return static_cast<double>(summary.end - summary.begin.front()) / static_cast<double>(cells);
}

TEST(DensityGrid, PixelsOfWholeCellsAreAsFullAsTheirBins) {
  model::TrackSummary const summary = stream_summary(1, 5000, 60'000);
  model::TrackSummary const* const one = &summary;
  DensityGrid const grid(std::span(&one, 1));
  auto const begin = static_cast<double>(summary.begin.front());

  for (double const cells : {2.0, 4.0, 16.0, 64.0}) {
    double const pixel = cell_width(summary) * cells * 1.0000001;
    auto const count =
        static_cast<size_t>(static_cast<double>(summary.end - summary.begin.front()) / pixel) + 3;
    std::vector<DensityColumn> found(count);
    grid.add_columns(std::span(&one, 1), begin, pixel, found);
    auto const expected = naive_columns(summary, begin, pixel, count);

    for (size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(i);
      for (size_t c = 0; c < model::kOpClassCount; ++c)
        EXPECT_NEAR(found[i].busy[c], expected[i].busy[c], 2e-3);
      EXPECT_NEAR(found[i].starts, expected[i].starts,
                  0.01 * static_cast<double>(expected[i].starts) + 0.1);
      EXPECT_EQ(found[i].known, expected[i].known);
      EXPECT_GE(found[i].depth, expected[i].depth);
    }
  }
}

TEST(DensityGrid, NothingIsLostOrDoubledAtAnyZoom) {
  model::TrackSummary const summary = stream_summary(2, -77'000, 30'000);
  model::TrackSummary const* const one = &summary;
  DensityGrid const grid(std::span(&one, 1));
  auto const length = static_cast<double>(summary.end - summary.begin.front());

  double busy = 0, starts = 0;
  for (size_t bin = 0; bin < summary.size(); ++bin) {
    for (auto const& of_class : summary.busy) busy += static_cast<double>(of_class[bin]);
    starts += summary.starts[bin];
  }

  for (size_t const count : {size_t{1}, size_t{7}, size_t{300}, size_t{1333}, size_t{40'000}}) {
    double const pixel = length / static_cast<double>(count) * 1.1;
    std::vector<DensityColumn> found(count);
    grid.add_columns(std::span(&one, 1), static_cast<double>(summary.begin.front()) - length * 0.05,
                     pixel, found);

    double found_busy = 0, found_starts = 0;
    for (DensityColumn const& column : found) {
      for (float const share : column.busy) found_busy += static_cast<double>(share) * pixel;
      found_starts += static_cast<double>(column.starts);
    }
    EXPECT_NEAR(found_busy / busy, 1, 5e-3) << count;
    EXPECT_NEAR(found_starts / starts, 1, 1e-3) << count;
  }
}

TEST(DensityGrid, OfADeviceIsThatOfItsStreams) {
  // The second stream begins in the middle of the first, so both run for a part of the time.
  model::TrackSummary const first = stream_summary(3, 0, 20'000),
                            second = stream_summary(4, first.end / 2, 20'000);
  std::vector<model::TrackSummary const*> const both = {&first, &second};
  DensityGrid const grid(both);

  double const begin = -1000, pixel = static_cast<double>(second.end) / 150;
  std::vector<DensityColumn> found(160);
  grid.add_columns(both, begin, pixel, found);
  auto const of_first = naive_columns(first, begin, pixel, 160),
             of_second = naive_columns(second, begin, pixel, 160);

  for (size_t i = 0; i < 160; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(found[i].known, of_first[i].known || of_second[i].known);
    for (size_t c = 0; c < model::kOpClassCount; ++c) {
      // The grid spreads cells at the borders of a pixel evenly. Where both streams are busy, the
      // device counts the time once.
      float const sum = of_first[i].busy[c] + of_second[i].busy[c];
      EXPECT_LE(found[i].busy[c], std::min(sum, 1.0F) + 0.1F);
      EXPECT_GE(found[i].busy[c], std::max(of_first[i].busy[c], of_second[i].busy[c]) - 0.1F);
      if (of_first[i].busy[c] == 0 || of_second[i].busy[c] == 0) {
        EXPECT_NEAR(found[i].busy[c], sum, 0.1);
      }
    }
  }

  // For pixels finer than a cell the grid uses the bins themselves.
  std::vector<DensityColumn> fine(50);
  double const middle = static_cast<double>(first.end) * 0.7, narrow = 400;
  grid.add_columns(both, middle, narrow, fine);
  auto const fine_first = naive_columns(first, middle, narrow, 50),
             fine_second = naive_columns(second, middle, narrow, 50);
  for (size_t i = 0; i < 50; ++i)
    EXPECT_NEAR(fine[i].busy[0] + fine[i].busy[1],
                fine_first[i].busy[0] + fine_first[i].busy[1] + fine_second[i].busy[0] +
                    fine_second[i].busy[1],
                1e-3);
}

TEST(DensityGrid, OfNothingDrawsNothing) {
  model::TrackSummary const summary;
  model::TrackSummary const* const one = &summary;
  DensityGrid const grid(std::span(&one, 1));
  std::vector<DensityColumn> found(5);
  grid.add_columns(std::span(&one, 1), 0, 10, found);
  EXPECT_FALSE(found[2].known);
}

analyzer::DeviceGaps random_gaps(uint32_t seed, int count, int64_t longest) {
  std::mt19937_64 random(seed);
  std::vector<analyzer::IdleGap> gaps;
  int64_t time = 12'345;

  for (int i = 0; i < count; ++i) {
    analyzer::IdleGap gap;
    auto const length = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(longest)) /
                                (random() % 50 == 0 ? 1 : 40);
    gap.when = {time, time + length};
    gaps.push_back(gap);
    time += length + static_cast<int64_t>(random() % 20'000);
  }

  return analyzer::DeviceGaps({0, 0}, gaps);
}

/// The length of the longest gap that touches [begin, end); 0 without one.
int64_t naive_longest(analyzer::DeviceGaps const& gaps, double begin, double end) {
  int64_t longest = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    auto const when = gaps.when(i);
    if (static_cast<double>(when.begin) < end && static_cast<double>(when.end) > begin)
      longest = std::max(longest, when.length());
  }
  return longest;
}

void expect_longest(analyzer::DeviceGaps const& gaps, double begin, double pixel, size_t count) {
  auto const found = GapGrid(gaps).longest(gaps, begin, pixel, count);
  ASSERT_EQ(found.size(), count);

  for (size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    double const from = begin + pixel * static_cast<double>(i), until = from + pixel;
    int64_t const inside = naive_longest(gaps, from + 1, until - 1);
    // All gaps count in a cell that a border of the pixel cuts.
    int64_t const around = naive_longest(gaps, from - pixel, until + pixel);

    if (found[i].gap == GapGrid::kNone) {
      EXPECT_EQ(inside, 0);
      continue;
    }

    auto const when = gaps.when(found[i].gap);
    EXPECT_GE(when.length(), inside);
    EXPECT_LE(when.length(), around);
    EXPECT_EQ(found[i].length, static_cast<uint32_t>(std::min<int64_t>(when.length(), UINT32_MAX)));
    EXPECT_GT(static_cast<double>(when.end), from - pixel - 1);
    EXPECT_LT(static_cast<double>(when.begin), until + pixel + 1);
  }
}

TEST(GapGrid, FindsTheLongestGapOfEveryPixel) {
  analyzer::DeviceGaps const gaps = random_gaps(5, 20'000, 100'000);
  auto const begin = static_cast<double>(gaps.when(0).begin),
             length = static_cast<double>(gaps.when(gaps.size() - 1).end) - begin;
  for (double const share : {1.2, 0.3, 0.01, 0.0005}) {
    SCOPED_TRACE(share);
    expect_longest(gaps, begin + length * 0.4 * (1 - share) - 777, length * share / 200, 200);
  }
}

TEST(GapGrid, TellsGapsOfSecondsApart) {
  // Longer than 32 bits of ns: the lengths that the grid stores do not show which is longer.
  analyzer::DeviceGaps const gaps = random_gaps(6, 600, 90'000'000'000);
  auto const begin = static_cast<double>(gaps.when(0).begin),
             length = static_cast<double>(gaps.when(gaps.size() - 1).end) - begin;
  expect_longest(gaps, begin, length / 20, 20);
  auto const whole = GapGrid(gaps).longest(gaps, begin, length + 10, 1);
  EXPECT_EQ(gaps.when(whole[0].gap).length(), naive_longest(gaps, begin - 10, begin + length + 10));
}

TEST(GapGrid, OfNoGapsFindsNone) {
  analyzer::DeviceGaps const gaps({0, 0}, {});
  EXPECT_EQ(GapGrid(gaps).longest(gaps, 0, 10, 3)[1].gap, GapGrid::kNone);
}

TEST(Curve, ItsHighestPlaceIsThatOfALookAtAllValues) {
  std::mt19937 random(12);
  Curve curve;
  for (int i = 0; i < 1000; ++i) {
    curve.time.push_back(i);
    curve.value.push_back(static_cast<double>(random() % 60));
  }
  finish_curve(curve);

  for (int i = 0; i < 2000; ++i) {
    auto const a = static_cast<uint32_t>(random() % 1000),
               b = static_cast<uint32_t>(random() % 1000);
    uint32_t const first = std::min(a, b), last = std::max(a, b) + 1;
    auto const expected = std::max_element(curve.value.begin() + first, curve.value.begin() + last);
    EXPECT_EQ(highest_place(curve, first, last),
              static_cast<uint32_t>(expected - curve.value.begin()));
  }
}

}  // namespace
}  // namespace stepscope::viewer
