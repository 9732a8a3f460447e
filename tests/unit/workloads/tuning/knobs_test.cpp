// The table of tuning knobs says of the workloads' options what they are.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "workloads/options.h"
#include "workloads/tuning/knobs.h"

namespace stepscope::workloads {
namespace {

TrainOptions parsed_options(std::vector<std::string> const& arguments) {
  auto const options = parse_train_options("cifar10", "", arguments);
  EXPECT_TRUE(options && *options) << (options ? "" : options.error().message);
  return options && *options ? **options : TrainOptions();
}

TEST(TuningKnobs, EveryValueIsOneThatTheWorkloadTakes) {
  for (TuningKnob const& knob : tuning_knobs("cifar10"))
    for (std::string const value : knob.values) {
      std::string const flag = value == "on" ? knob.on_flag : knob.off_flag;
      if (knob.option != nullptr) parsed_options({knob.option, value});
      if (knob.option == nullptr && !flag.empty()) parsed_options({flag});
      EXPECT_TRUE(knob.option != nullptr || value == "on" || value == "off") << knob.name;
    }
}

TEST(TuningKnobs, DefaultsAreThoseOfTheWorkload) {
  TrainOptions const usual = parsed_options({});
  for (TuningKnob const& knob : tuning_knobs("cifar10")) {
    EXPECT_TRUE(std::find(knob.values.begin(), knob.values.end(),
                          std::string(knob.default_value)) != knob.values.end())
        << knob.name;
    std::string const flag = std::string(knob.default_value) == "on" ? knob.on_flag : knob.off_flag;
    std::vector<std::string> arguments;
    if (knob.option != nullptr) arguments = {knob.option, knob.default_value};
    if (knob.option == nullptr && !flag.empty()) arguments = {flag};

    TrainOptions const same = parsed_options(arguments);
    EXPECT_EQ(same.bucket_mb, usual.bucket_mb);
    EXPECT_EQ(same.overlap, usual.overlap);
    EXPECT_EQ(same.loader_threads, usual.loader_threads);
    EXPECT_EQ(same.prefetch, usual.prefetch);
    EXPECT_EQ(same.input_delay_ms, usual.input_delay_ms);
    EXPECT_EQ(same.graphs, usual.graphs);
    EXPECT_EQ(same.precision, usual.precision);
  }
}

TEST(TuningKnobs, AreInTheGuideWithTheirValues) {
  std::ifstream file(support::source_path("docs/guide/TUNE.md"));
  ASSERT_TRUE(file.is_open());
  std::string const guide(std::istreambuf_iterator<char>(file), {});

  for (TuningKnob const& knob : tuning_knobs("cifar10")) {
    std::string row = fmt::format("| `{}` | {}", knob.name, knob.default_value);
    for (std::string_view const value : knob.values)
      if (value != knob.default_value) row += fmt::format(", {}", value);
    EXPECT_NE(guide.find(row + " |"), std::string::npos) << row;
  }
}

TEST(TuningKnobs, OnlyTrainingsHaveThem) {
  EXPECT_FALSE(tuning_knobs("gpt").empty());
  EXPECT_TRUE(tuning_knobs("allreduce").empty());
  EXPECT_TRUE(tuning_knobs("nothing").empty());
  EXPECT_TRUE(tuning_arguments("gan").empty());
}

}  // namespace
}  // namespace stepscope::workloads
