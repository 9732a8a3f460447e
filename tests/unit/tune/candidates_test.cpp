// Which settings are looked at from where a search stands, and what the replay is asked of them.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/changes/change.h"
#include "tests/unit/tune/tune_samples.h"
#include "tune/candidates.h"

namespace stepscope::tune {
namespace {

using testing::ElementsAre;
using testing_machine::space_of;

std::vector<Settings> settings_from(Space const& space, Settings const& best) {
  std::vector<Settings> all;
  for (Candidate const& candidate : candidates_from(space, best)) all.push_back(candidate.settings);
  return all;
}

TEST(Candidates, TurnOneKnob) {
  EXPECT_THAT(settings_from(space_of({{"0", "1", "2"}, {"x", "y"}}), {"1", "x"}),
              ElementsAre(Settings{"0", "x"}, Settings{"2", "x"}, Settings{"1", "y"}));
}

TEST(Candidates, TurnTwoWhereARestrictionTiesThem) {
  Space space = space_of({{"32", "64", "128"}, {"8", "4", "2"}, {"x", "y"}});
  space.restrictions.push_back(*Expression::parse("a*b == 256"));
  EXPECT_THAT(
      settings_from(space, {"32", "8", "x"}),
      ElementsAre(Settings{"64", "4", "x"}, Settings{"128", "2", "x"}, Settings{"32", "8", "y"}));
}

TEST(Candidates, OfARangeTheNeighbourhoodOfWhatHelpedIsTried) {
  Space space = space_of({{"16", "1", "4", "64", "256"}});
  space.knobs[0].range = KnobRange{1, 256, true, true};
  EXPECT_EQ(settings_from(space, {"16"}).size(), 4U);
  auto const around = settings_from(space, {"64"});
  EXPECT_EQ(around.size(), 6U);
  EXPECT_THAT(around, testing::Contains(Settings{"38"}));
  EXPECT_THAT(around, testing::Contains(Settings{"109"}));
}

TEST(Candidates, ANumberOfThemIsBounded) {
  std::vector<std::string> many;
  for (int i = 0; i < 60; ++i) many.push_back(std::to_string(i));
  Space const space = space_of(std::vector<std::vector<std::string>>(20, many));
  EXPECT_EQ(candidates_from(space, default_settings(space)).size(), kMostCandidates);
}

TEST(Candidates, KnowWhatTheReplayHasToChange) {
  Space space = space_of({{"4", "0", "8"}, {"off", "on"}, {"0.25", "25"}, {"x", "y"}});
  space.knobs[0].meaning = find_meaning("loader-workers");
  space.knobs[1].meaning = find_meaning("overlap");
  space.knobs[2].meaning = find_meaning("bucket-mib");
  auto const all = candidates_from(space, default_settings(space));
  ASSERT_EQ(all.size(), 5U);

  EXPECT_FALSE(all[0].is_predictable()) << "fewer threads may help by the cores that they leave";
  EXPECT_THAT(all[1].bound, ElementsAre("input=0"));
  EXPECT_TRUE(all[1].estimate.empty());
  EXPECT_THAT(all[2].estimate, ElementsAre("overlap"));
  EXPECT_THAT(all[3].estimate, ElementsAre("bucket=25MiB"));
  EXPECT_EQ(all[3].meaning, "bucket-mib");
  EXPECT_FALSE(all[4].is_predictable());
}

TEST(Meanings, AskForChangesThatTheReplayKnows) {
  for (Meaning const& meaning : meanings())
    for (auto const& [from, to] : {std::pair("1", "2"), std::pair("2", "0"), std::pair("off", "on"),
                                   std::pair("on", "off"), std::pair("", "x")}) {
      MeantChange const change = meaning.move(from, to);
      for (std::string const& text : {change.estimate, change.bound}) {
        if (text.empty()) continue;
        EXPECT_TRUE(analyzer::parse_change(text)) << meaning.name << " " << text;
      }
    }
}

TEST(Meanings, OfSizesAskForChangesThatTheReplayKnows) {
  Meaning const& batch = *find_meaning("batch-size");
  for (auto const& [from, probe, to] :
       {std::array{"32", "64", "128"}, {"0.5", "1e6", "7"}, {"1e9", "1", "32"}})
    EXPECT_TRUE(analyzer::parse_change(batch.with_probe(from, probe, to))) << from;

  for (auto const& [from, probe, to] : {std::array{"32", "32", "64"},
                                        {"0", "32", "64"},
                                        {"-1", "32", "64"},
                                        {"small", "32", "64"},
                                        {"32", "", "64"},
                                        {"32", "64", "1e10"}})
    EXPECT_EQ(batch.with_probe(from, probe, to), "") << from;
}

}  // namespace
}  // namespace stepscope::tune
