// The command of a setting: placeholders, words of knobs, environment variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"
#include "tune/command_line.h"
#include "tune/printed_values.h"

namespace stepscope::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Space space_with_words() {
  Space space = testing_machine::space_of({{"4", "8"}, {"on", "off"}, {"", "Ring"}});
  space.knobs[1].words = {{"on", ""}, {"off", "--no-overlap"}};
  space.knobs[2].name = "NCCL_ALGO";
  space.knobs[2].is_environment = true;
  return space;
}
std::vector<std::string> const kTemplate = {"train", "--workers={a}", "{b}", "{a}{a}", "{x}", ""};

TEST(CommandLine, PlaceholdersBecomeTheWordsOfTheirKnobs) {
  Space const space = space_with_words();
  ASSERT_TRUE(check_template(space, kTemplate));
  EXPECT_THAT(command_for(space, kTemplate, {"8", "off", "Ring"}).words,
              ElementsAre("train", "--workers=8", "--no-overlap", "88", "{x}", ""));
  EXPECT_THAT(command_for(space, kTemplate, {"4", "on", ""}).words,
              ElementsAre("train", "--workers=4", "44", "{x}", ""));
}

TEST(CommandLine, VariablesAreSetOrNotSet) {
  Space const space = space_with_words();
  CommandLine const ring = command_for(space, kTemplate, {"8", "on", "Ring"});
  EXPECT_THAT(shell_text(ring), HasSubstr("NCCL_ALGO=Ring train --workers=8"));
  EXPECT_THAT(program_of(ring)[1], "NCCL_ALGO=Ring");
  CommandLine const none = command_for(space, kTemplate, {"8", "on", ""});
  EXPECT_TRUE(shell_text(none).starts_with("train "));
  EXPECT_THAT(program_of(none),
              ElementsAre("env", "-u", "NCCL_ALGO", "train", "--workers=8", "88", "{x}", ""));
}

TEST(CommandLine, AKnobThatTheCommandDoesNotHaveIsRefused) {
  auto const good = check_template(space_with_words(), std::vector<std::string>{"train", "{a}"});
  ASSERT_FALSE(good);
  EXPECT_THAT(good.error().message, HasSubstr("knob b: the command does not have {b}"));
  EXPECT_FALSE(check_template(space_with_words(), {}));
}

TEST(CommandLine, StepsAreThoseOfTheSpaceOrOfAShortRun) {
  Space space = testing_machine::space_of({{"4", "8"}});
  std::vector<std::string> const words = {"train", "--steps={steps}", "{a}"};
  EXPECT_THAT(command_for(space, words, {"8"}).words, ElementsAre("train", "--steps={steps}", "8"));
  EXPECT_EQ(short_steps(space), std::nullopt);

  space.steps = 200;
  ASSERT_TRUE(check_template(space, words));
  EXPECT_THAT(command_for(space, words, {"8"}).words, ElementsAre("train", "--steps=200", "8"));
  EXPECT_EQ(short_steps(space), 50);
  EXPECT_THAT(command_for(space, words, {"8"}, short_steps(space)).words,
              ElementsAre("train", "--steps=50", "8"));
  auto const good = check_template(space, std::vector<std::string>{"train", "{a}"});
  ASSERT_FALSE(good);
  EXPECT_THAT(good.error().message, HasSubstr("does not have {steps}"));

  space.steps = 2 * kFewestShortSteps;
  EXPECT_EQ(short_steps(space), kFewestShortSteps);
  space.steps = 2 * kFewestShortSteps - 1;
  EXPECT_EQ(short_steps(space), std::nullopt);
  space.knobs[0].name = "steps";
  EXPECT_FALSE(check_space(space));
}

TEST(CommandLine, ValuesOfKnobsAreNoPlaceholders) {
  Space space = testing_machine::space_of({{"{b}", "1"}, {"x", "y"}});
  std::vector<std::string> const words = {"{a}", "{b}"};
  EXPECT_THAT(command_for(space, words, {"{b}", "y"}).words, ElementsAre("{b}", "y"));
}

TEST(PrintedValues, AreFoundByNameAndStep) {
  std::string const output =
      "step    10  loss 2.2747     914.0 images/s\nStep 20: total_loss=9 Loss=1.3230\n"
      "{\"step\": 30, \"loss\": 1.25e0}\nsteps 40, loss nan\n";

  EXPECT_EQ(printed_value(output, "loss", 10), 2.2747);
  EXPECT_EQ(printed_value(output, "loss", 20), 1.323);
  EXPECT_EQ(printed_value(output, "loss", 30), 1.25);
  EXPECT_EQ(printed_value(output, "loss", std::nullopt), 1.25);
  EXPECT_EQ(printed_value(output, "loss", 40), std::nullopt);
  EXPECT_EQ(printed_value(output, "accuracy", std::nullopt), std::nullopt);
  EXPECT_EQ(printed_value("", "loss", 1), std::nullopt);
}

}  // namespace
}  // namespace stepscope::tune
