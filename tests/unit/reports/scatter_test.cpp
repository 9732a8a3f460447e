#include "reports/html/tuning/scatter.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/report/hostile_run.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

ScatterPoint point_at(double x, double y) {
  ScatterPoint point;
  point.mark = "7";
  point.label = "workers=8";
  point.x = {x, x - 0.01, x + 0.01};
  point.y = {y, y - 0.02, y + 0.02};
  return point;
}

TEST(Scatter, TicksAreRoundAndFew) {
  EXPECT_DOUBLE_EQ(tick_distance(0.9), 0.1);
  EXPECT_DOUBLE_EQ(tick_distance(0.4), 0.05);
  EXPECT_DOUBLE_EQ(tick_distance(0.15), 0.02);
  for (double span = 0.001; span < 20; span *= 1.07) {
    double const ticks = span / tick_distance(span);
    EXPECT_GE(ticks, 4) << span;
    EXPECT_LE(ticks, 10.001) << span;
  }
}

TEST(Scatter, ShowsEachPointWithItsLabelAndTheDiagonal) {
  std::string const svg =
      html_scatter("Title", "Across", "Up", {point_at(0.3, 0.25), point_at(0.05, -0.01)});
  EXPECT_THAT(svg, HasSubstr("<title>workers=8</title>"));
  EXPECT_THAT(svg, HasSubstr("class=\"exact\""));
  EXPECT_THAT(svg, HasSubstr(">7</text>"));
  EXPECT_THAT(svg, HasSubstr("role=\"group\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(Scatter, DrawsNothingOfPointsThatAreNoNumbers) {
  EXPECT_EQ(html_scatter("Title", "Across", "Up", {}), "");
  EXPECT_EQ(html_scatter("Title", "Across", "Up", {point_at(NAN, 0.1), point_at(0.1, INFINITY)}),
            "");

  ScatterPoint unbounded = point_at(0.1, 0.1);
  unbounded.y.low = -INFINITY;
  unbounded.y.high = INFINITY;
  std::string const svg = html_scatter("Title", "Across", "Up", {unbounded});
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("<circle"));
}

TEST(Scatter, EscapesLabels) {
  ScatterPoint hostile = point_at(0.1, 0.1);
  hostile.mark = hostile.label = support::kHostileText;
  std::string const svg = html_scatter("Title", "Across", "Up", {hostile});
  EXPECT_THAT(svg, Not(HasSubstr("<img")));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace stepscope::reports
