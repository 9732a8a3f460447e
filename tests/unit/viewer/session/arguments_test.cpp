#include "viewer/session/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

TEST(ParseSize, TakesWidthAndHeight) {
  auto const size = parse_size("1920x1080");
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width, 1920);
  EXPECT_EQ(size->height, 1080);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (char const* text :
       {"", "x", "1920", "1920x", "10x10", "1920x1080x", "99999x1000", "-1x500", "1e3x1000"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(ApplyArguments, ShowsTheAskedTimeAndSelectsInIt) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 10});
  ViewState state = initial_view(scene);
  Arguments arguments;
  arguments.time = "50ms:90ms";
  arguments.select = "wait for batch";
  arguments.panel = "kernels";
  arguments.theme = "light";

  ASSERT_TRUE(apply_arguments(arguments, scene, state));
  EXPECT_DOUBLE_EQ(state.window.begin, 50e6);
  EXPECT_DOUBLE_EQ(state.window.end, 90e6);
  ASSERT_TRUE(state.selection);
  EXPECT_GE(scene.when(*state.selection).begin, 50'000'000);
  EXPECT_EQ(state.panels.tab, Tab::kKernels);
  EXPECT_EQ(state.theme, Theme::kLight);
}

TEST(ApplyArguments, RefusesATimeBehindTheRun) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 10});
  ViewState state = initial_view(scene);
  auto const refused = apply_arguments({.time = "500s:501s"}, scene, state);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("is behind the run's end, it has 0."));
}

TEST(ApplyArguments, ShowsTheAskedFindingOnceThereIsAnAnalysis) {
  Scene scene = synthetic_scene({.devices = 2, .steps = 10});
  analyzer::Finding finding;
  finding.rule = "input-bound";
  finding.evidence = {{{0, 0}, {60'000'000, 65'000'000}, std::nullopt}};
  scene.analysis.findings = {{}, finding};
  ViewState state = initial_view(scene);
  Arguments arguments;
  arguments.finding = 2;

  ASSERT_TRUE(apply_arguments(arguments, scene, state));
  ASSERT_TRUE(state.finding);
  EXPECT_EQ(state.finding->finding, 1U);
  EXPECT_LE(state.window.begin, static_cast<double>(scene.to_view(60'000'000)));
  EXPECT_GE(state.window.end, static_cast<double>(scene.to_view(65'000'000)));

  arguments.finding = 3;
  auto const refused = apply_arguments(arguments, scene, state);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("the run has 2 findings"));
}

TEST(ShowFirstFinding, OpensTheRankOfItsPlaceAndLeavesTheOthersClosed) {
  Scene scene = synthetic_scene(
      {.devices = 4, .steps = 6, .process_per_device = true, .input_delay_ns = 20'000'000});
  ASSERT_FALSE(scene.analysis.findings.empty());
  ViewState state = initial_view(scene);
  show_first_finding({}, scene, state);
  ASSERT_TRUE(state.finding);
  EXPECT_EQ(state.closed.size(), 3U);
}

TEST(ShowFirstFinding, LeavesAllRanksClosedWhereOneMakesTheOthersWait) {
  support::SyntheticOptions options{.devices = 4, .steps = 6, .process_per_device = true};
  options.straggler_device = 2;
  Scene const scene = synthetic_scene(options);
  ASSERT_FALSE(scene.analysis.findings.empty());
  ViewState state = initial_view(scene);
  show_first_finding({}, scene, state);
  ASSERT_TRUE(state.finding);
  EXPECT_EQ(state.finding->finding, 0U);
  EXPECT_EQ(state.closed.size(), 4U);
  EXPECT_LT(state.window.span(), static_cast<double>(scene.length));

  // Not where something is asked for, nor where all ranks are open.
  ViewState const before = initial_view(scene);
  ViewState asked = before;
  show_first_finding({.time = "0:1ms"}, scene, asked);
  EXPECT_EQ(asked, before);
  options.devices = 2;
  options.straggler_device = 1;
  Scene const two = synthetic_scene(options);
  ViewState of_two = initial_view(two);
  show_first_finding({}, two, of_two);
  EXPECT_FALSE(of_two.finding);
}

TEST(ApplyArguments, OfTwoRunsShowsTheirComparisonUnlessAnotherPanelIsAskedFor) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 2});
  Arguments arguments;
  arguments.runs = {"base"};
  arguments.candidate = {"new"};

  for (auto const& [panel, tab] :
       {std::pair{"", Tab::kComparison}, std::pair{"comparison", Tab::kComparison},
        std::pair{"kernels", Tab::kKernels}}) {
    ViewState state = initial_view(scene);
    arguments.panel = panel;
    ASSERT_TRUE(apply_arguments(arguments, scene, state));
    EXPECT_EQ(state.panels.tab, tab);
  }
}

TEST(ApplyArguments, PutsChangesIntoTheBoxOfTheWhatIfPanel) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 2});
  ViewState state = initial_view(scene);
  Arguments arguments;
  arguments.changes = {"input=0", "host:forward pass=0"};
  ASSERT_TRUE(apply_arguments(arguments, scene, state));
  EXPECT_EQ(state.panels.what_if.changes, "input=0 \"host:forward pass=0\"");
  EXPECT_EQ(state.panels.tab, Tab::kWhatIf);

  arguments.panel = "kernels";
  ASSERT_TRUE(apply_arguments(arguments, scene, state));
  EXPECT_EQ(state.panels.tab, Tab::kKernels);

  arguments.changes = {"inputs=0"};
  auto const refused = apply_arguments(arguments, scene, state);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("--change"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("inputs"));
}

TEST(ApplyArguments, SaysWhatIsWrongAndWhatToDo) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 2});
  auto const message = [&](Arguments const& arguments) {
    ViewState state = initial_view(scene);
    auto const result = apply_arguments(arguments, scene, state);
    return result ? std::string("no error") : result.error().message;
  };

  Arguments arguments;
  arguments.panel = "x";
  EXPECT_THAT(message(arguments), testing::HasSubstr("write findings"));

  arguments = {};
  arguments.theme = "x";
  EXPECT_THAT(message(arguments), testing::HasSubstr("dark or light"));

  arguments = {};
  arguments.select = "no such event \x1B[31m";
  EXPECT_THAT(message(arguments), testing::HasSubstr("no event has this name"));
  EXPECT_THAT(message(arguments), testing::Not(testing::HasSubstr("\x1B")));

  arguments = {};
  arguments.time = "2:1";
  EXPECT_THAT(message(arguments), testing::HasSubstr("begin:end"));

  arguments = {};
  arguments.panel = "comparison";
  EXPECT_THAT(message(arguments), testing::HasSubstr("stepscope view BASE --vs NEW"));

  arguments = {};
  arguments.candidate = {"new \x1B[31m"};
  EXPECT_THAT(message(arguments), testing::HasSubstr("compared with which run"));
  EXPECT_THAT(message(arguments), testing::Not(testing::HasSubstr("\x1B")));
}

}  // namespace
}  // namespace stepscope::viewer
