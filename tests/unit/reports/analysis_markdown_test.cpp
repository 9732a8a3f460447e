#include "reports/markdown/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AnalysisMarkdown, SaysWhereTheTimeGoesAndWhatToDo) {
  Sample const sample = make_slow_sample();
  std::string const text = analysis_markdown(sample.run, sample.analysis);
  EXPECT_THAT(text, testing::StartsWith("## sample\n\n**The devices wait for input data – load "));
  EXPECT_THAT(text, HasSubstr("to the device.** A step takes "));

  EXPECT_THAT(text, HasSubstr("| a step | time | share |\n|---|---:|---:|\n| compute | "));
  EXPECT_THAT(text, HasSubstr("| idle: waiting for input | 30."));
  EXPECT_THAT(text,
              HasSubstr("- **The devices wait for input data** (critical, 30.1 ms a step). "));
  EXPECT_THAT(text, HasSubstr("(rule input-bound)"));
  EXPECT_THAT(text, Not(HasSubstr("quality")));
}

TEST(AnalysisMarkdown, OfHostileTextIsTextAndOfNothingSaysSo) {
  Sample const sample = make_hostile_sample();
  std::string const text = analysis_markdown(sample.run, sample.analysis);
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1))
    EXPECT_EQ(text.at(at - 1), '\\');
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(analysis_markdown({}, {}), HasSubstr("None: no rule found anything"));
}

}  // namespace
}  // namespace stepscope::reports
