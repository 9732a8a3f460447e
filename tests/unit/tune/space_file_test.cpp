// Spaces as TOML: what they mean, and that mistakes are reported with their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tune/space_file.h"

namespace stepscope::tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Space read_space(std::string const& text) {
  auto space = parse_space(text, "space.toml");
  EXPECT_TRUE(space) << space.error().message;
  return space ? *space : Space();
}
std::string space_error(std::string const& text) {
  auto const space = parse_space(text, "space.toml");
  return space ? "read" : space.error().message;
}
std::string knob_text(std::string const& lines) { return "[knob.workers]\n" + lines + "\n"; }

constexpr char const* kWhole = R"toml(
[objective]
maximize = "samples_per_second"
samples = "{batch}*8*{accumulate}"
require = ["peak_reserved < 0.9*capacity", "loss[20] < 1.01*default"]
[knob.workers]
values = [0, 2, 4, 8]
default = 4
means = "loader-workers"
[knob.bucket]
range = [1, 256]
log = true
default = 25
means = "bucket-mib"
[knob.NCCL_ALGO]
env = true
values = ["", "Ring", "Tree"]
default = ""
[knob.amp]
values = ["off", "bf16"]
default = "off"
numerics = true
[knob.overlap]
values = ["on", "off"]
default = "off"
means = "overlap"
words = { on = "", off = "--no-overlap" }
[knob.batch]
values = [32, 64]
default = 32
[knob.accumulate]
values = [4, 8]
default = 8
[[restrict]]
expr = "batch*accumulate == 256"
[budget]
time = "30m"
pairs = 12
)toml";

TEST(SpaceFile, HasKnobsInTheOrderOfTheFile) {
  Space const space = read_space(kWhole);
  ASSERT_EQ(space.knobs.size(), 7U);
  EXPECT_EQ(space.knobs[0].name, "workers");
  EXPECT_THAT(space.knobs[0].values, ElementsAre("0", "2", "4", "8"));
  EXPECT_EQ(space.knobs[0].default_value, "4");
  EXPECT_STREQ(space.knobs[0].meaning->name, "loader-workers");

  EXPECT_TRUE(space.knobs[2].is_environment);
  EXPECT_TRUE(space.knobs[3].changes_numerics);
  EXPECT_EQ(space.knobs[3].meaning, nullptr);
  EXPECT_EQ(space.knobs[4].word_of("off"), "--no-overlap");
  EXPECT_EQ(space.knobs[4].word_of("on"), "");
  EXPECT_EQ(space.knobs[5].word_of("32"), "32");
}

TEST(SpaceFile, ARangeBecomesACoarseGridWithItsDefault) {
  Space const space = read_space(kWhole);
  EXPECT_THAT(space.knobs[1].values, ElementsAre("1", "4", "16", "25", "64", "256"));
  Space const even = read_space("[knob.x]\nrange = [0.0, 1.0]\ndefault = 0.5\n");
  EXPECT_THAT(even.knobs[0].values, ElementsAre("0", "0.25", "0.5", "0.75", "1"));
}

TEST(SpaceFile, HasConditionsAndABudget) {
  Space const space = read_space(kWhole);
  EXPECT_EQ(space.time_s, 1800);
  EXPECT_EQ(space.pairs, 12U);
  EXPECT_EQ(space.requirements.size(), 2U);
  EXPECT_EQ(*samples_of(space, default_settings(space)), 32 * 8 * 8);

  Settings settings = default_settings(space);
  settings[5] = "64";
  EXPECT_FALSE(is_allowed(space, settings));
  settings[6] = "4";
  EXPECT_TRUE(is_allowed(space, settings));
  EXPECT_EQ(changed_text(space, settings, default_settings(space)), "batch=64, accumulate=4");
}

TEST(SpaceFile, AKnobNeedsADefaultAmongItsValues) {
  EXPECT_THAT(space_error(knob_text("values = [0, 2]")),
              AllOf(HasSubstr("space.toml:1:"), HasSubstr("workers has no default")));
  EXPECT_THAT(space_error(knob_text("values = [0, 2]\ndefault = 1")),
              AllOf(HasSubstr("space.toml:3:"), HasSubstr("none of its values")));
  EXPECT_THAT(space_error(knob_text("range = [1, 8]\ndefault = 9")),
              HasSubstr("outside of its range"));
  EXPECT_THAT(space_error(knob_text("values = []\ndefault = 1")), HasSubstr("has no values"));
  EXPECT_THAT(space_error(knob_text("default = 1")), HasSubstr("values or a range"));
  EXPECT_THAT(space_error(knob_text("values = [1, 1]\ndefault = 1")), HasSubstr("twice"));
}

TEST(SpaceFile, UnknownMeaningsAreReportedWithTheKnownOnes) {
  EXPECT_THAT(space_error(knob_text("values = [0, 2]\ndefault = 0\nmeans = \"workers\"")),
              AllOf(HasSubstr("space.toml:4:"), HasSubstr("\"workers\" is not known"),
                    HasSubstr("loader-workers, prefetch")));
}

TEST(SpaceFile, RestrictionsNameKnobsAndAllowTheDefault) {
  std::string const two = knob_text("values = [0, 2]\ndefault = 0") + "[[restrict]]\nexpr = ";
  EXPECT_THAT(space_error(two + "\"workers > 0\""), HasSubstr("excludes the default"));
  EXPECT_THAT(space_error(two + "\"threads == 0\""), HasSubstr("threads is no knob"));
  EXPECT_THAT(space_error(two + "\"workers >\""),
              AllOf(HasSubstr("space.toml:5:"), HasSubstr("missing at the end")));
  EXPECT_THAT(space_error(two + "3"), HasSubstr("no text"));
}

TEST(SpaceFile, RangesAreTwoNumbers) {
  EXPECT_THAT(space_error(knob_text("range = [8, 1]\ndefault = 1")), HasSubstr("[LOW, HIGH]"));
  EXPECT_THAT(space_error(knob_text("range = [1]\ndefault = 1")), HasSubstr("[LOW, HIGH]"));
  EXPECT_THAT(space_error(knob_text("range = 3\ndefault = 1")), HasSubstr("[LOW, HIGH]"));
  EXPECT_THAT(space_error(knob_text("range = [0, 8]\nlog = true\ndefault = 1")),
              HasSubstr("begins above 0"));
}

TEST(SpaceFile, UnknownKeysAndWrongTypesAreRefused) {
  EXPECT_THAT(space_error("[knobs.a]\nvalues = [1]\n"), HasSubstr("knobs is not known"));
  EXPECT_THAT(space_error(knob_text("value = [1]")),
              HasSubstr("value is not known in [knob.workers]"));
  EXPECT_THAT(space_error(knob_text("values = [[1]]\ndefault = 1")), HasSubstr("no number, text"));
  EXPECT_THAT(space_error(knob_text("values = [1]\ndefault = 1\nenv = 1")),
              HasSubstr("true or false"));

  EXPECT_THAT(space_error("knob = 3"), HasSubstr("write [knob.NAME]"));
  EXPECT_THAT(space_error("x = [=\n"), HasSubstr("space.toml:1:"));
  EXPECT_THAT(space_error(""), HasSubstr("no knob"));
  EXPECT_THAT(space_error(knob_text("values = [\"\xC3\xA9\"]\ndefault = 1")), HasSubstr("ASCII"));
}

TEST(SpaceFile, ObjectivesAndBudgetsAreChecked) {
  std::string const good = knob_text("values = [1, 2]\ndefault = 1");
  EXPECT_THAT(space_error(good + "[objective]\nminimize = \"loss\""), HasSubstr("\"step\""));
  EXPECT_THAT(space_error(good + "[objective]\nmaximize = \"samples_per_second\""),
              HasSubstr("go together"));
  EXPECT_THAT(space_error(good + "[budget]\ntime = \"soon\""), HasSubstr("write for example 90s"));
  EXPECT_THAT(space_error(good + "[budget]\npairs = 2"), HasSubstr("from 3 to"));
  EXPECT_THAT(space_error(good + "[budget]\nsteps = 0"), HasSubstr("what {steps} stands for"));
  auto const space = parse_space(good + "[budget]\nsteps = 200", "space.toml");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->steps, 200);

  EXPECT_EQ(*parse_budget_time("2h"), 7200);
  EXPECT_EQ(*parse_budget_time("90"), 90);
  EXPECT_FALSE(parse_budget_time("0s"));
  EXPECT_FALSE(parse_budget_time("m"));
}

}  // namespace
}  // namespace stepscope::tune
