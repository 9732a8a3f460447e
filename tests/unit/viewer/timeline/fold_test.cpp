// The pixel-bounded walk against a naive twin that looks at every event.
#include "viewer/scene/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stepscope::viewer {
namespace {

struct Span {
  int64_t begin, end;
};
struct Visit {
  uint32_t first, last;
  double x0, x1;
};

std::vector<Visit> visits(std::vector<Span> const& spans, double begin, double end, double width) {
  std::vector<Visit> result;
  fold(
      static_cast<uint32_t>(spans.size()), begin, end, width,
      [&](uint32_t i) { return spans[i].begin; }, [&](uint32_t i) { return spans[i].end; },
      [&](uint32_t first, uint32_t last, double x0, double x1) {
        result.push_back({first, last, x0, x1});
      });
  return result;
}

/// Disjoint spans with gaps and lengths from 0 to long, so that some are wide and most are thin.
std::vector<Span> random_spans(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<Span> spans;
  int64_t at = 0;

  for (size_t i = 0; i < count; ++i) {
    at += static_cast<int64_t>(random() % 50);
    auto const dur = random() % 20 == 0 ? static_cast<int64_t>(random() % 20'000)
                                        : static_cast<int64_t>(random() % 30);
    spans.push_back({at, at + dur});
    at += dur;
  }

  return spans;
}

bool in_window(Span const& span, double begin, double end) {
  auto const b = static_cast<double>(span.begin);
  return b < end && (static_cast<double>(span.end) > begin || b >= begin);
}

TEST(Fold, CountsEveryEventOfTheWindowExactlyOnce) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    auto const spans = random_spans(seed, 2000);
    double const total = static_cast<double>(spans.back().end);
    double const begin = total * (seed % 7) / 10;
    double const end = begin + total / (1 + seed % 13);

    uint64_t expected = 0;
    for (Span const& span : spans) expected += in_window(span, begin, end) ? 1 : 0;

    uint64_t seen = 0;
    uint32_t next = 0;
    for (Visit const& visit : visits(spans, begin, end, 640)) {
      if (seen > 0) {
        EXPECT_EQ(visit.first, next) << "seed " << seed;
      }
      next = visit.last;
      seen += visit.last - visit.first;
    }

    EXPECT_EQ(seen, expected) << "seed " << seed;
  }
}

TEST(Fold, VisitsFromLeftToRight) {
  auto const spans = random_spans(5, 5000);
  double before = -1e300;
  for (Visit const& visit : visits(spans, 100, static_cast<double>(spans.back().end) / 3, 333)) {
    EXPECT_GE(visit.x0, before);
    EXPECT_GT(visit.x1, visit.x0);
    before = visit.x0;
  }
}

TEST(Fold, VisitsAtMostTwoMarksAPixel) {
  std::vector<Span> spans;
  for (int64_t i = 0; i < 1'000'000; ++i) spans.push_back({i * 10, i * 10 + 7});
  EXPECT_LE(visits(spans, 0, 1e7, 500).size(), 1000U);
}

TEST(Fold, LooksAtFewEventsWhateverTheirNumber) {
  uint64_t looks = 0;
  fold(
      100'000'000, 0, 1e9, 1000,
      [&](uint32_t i) {
        ++looks;
        return int64_t{i} * 10;
      },
      [&](uint32_t i) {
        ++looks;
        return int64_t{i} * 10 + 9;
      },
      [](uint32_t, uint32_t, double, double) {});

  // A pixel costs a gallop over 100,000 events: twice log2 of them, two looks each.
  EXPECT_LE(looks, 1000U * 80);
}

TEST(Fold, KeepsAWideEventThatStartsInACrowdedPixelApart) {
  std::vector<Span> const spans = {{0, 1}, {2, 3}, {4, 500}, {500, 501}};
  auto const result = visits(spans, 0, 1000, 100);
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0].last, 2U);
  EXPECT_DOUBLE_EQ(result[1].x0, 0.4);
  EXPECT_DOUBLE_EQ(result[1].x1, 50);
  EXPECT_EQ(result[2].first, 3U);
}

TEST(Fold, SeesAnEventThatBeganBeforeTheWindow) {
  EXPECT_EQ(visits({{0, 1000}}, 400, 500, 100).size(), 1U);
}

TEST(Fold, LeavesOutWhatEndsWhereTheWindowBegins) {
  EXPECT_TRUE(visits({{0, 400}, {500, 600}}, 400, 500, 100).empty());
}

TEST(Fold, SeesAnInstantAtTheWindowsFirstNanosecond) {
  EXPECT_EQ(visits({{400, 400}}, 400, 500, 100).size(), 1U);
}

TEST(Gallop, FindsTheSameAsALinearSearch) {
  for (uint32_t count = 0; count < 40; ++count)
    for (uint32_t first = 0; first <= count; ++first)
      for (uint32_t answer = first; answer <= count; ++answer)
        EXPECT_EQ(gallop(first, count, [&](uint32_t i) { return i < answer; }), answer);
}

TEST(BeginIndex, LeadsToTheFirstThatDoesNotBeginBefore) {
  std::mt19937 random(7);
  for (uint32_t const count : {1U, 2U, 63U, 64U, 65U, 1000U}) {
    std::vector<int64_t> begins;
    BeginIndex index;
    int64_t at = -500;

    for (uint32_t i = 0; i < count; ++i) {
      begins.push_back(at);
      index.add(at);
      at += static_cast<int64_t>(random() % 3);
    }

    for (int i = 0; i < 500; ++i) {
      auto const first = static_cast<uint32_t>(random() % count);
      auto const time = static_cast<double>(static_cast<int64_t>(random() % 3000) - 600);
      uint32_t const near = index.before(first, time + 10, 10);
      uint32_t exact = first;
      while (exact < count && static_cast<double>(begins[exact]) < time) ++exact;
      EXPECT_GE(near, first);
      EXPECT_LE(near, exact);
      EXPECT_LE(exact - near, BeginIndex::kBlock);
    }
  }
}

}  // namespace
}  // namespace stepscope::viewer
