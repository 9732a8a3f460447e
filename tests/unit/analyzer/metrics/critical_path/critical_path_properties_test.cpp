// Properties of the critical path: it fills its window, a fault shows on it, and neither the order
// of ranks and tracks nor the time of the run changes it.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "reports/json/critical_path_json.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"
#include "tests/unit/analyzer/metrics/critical_path/random_path_run.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;
using testing_support::ns_of;
using testing_support::path_of;
using testing_support::path_pieces;
using testing_support::RandomPathRun;
using testing_support::sum_of;

TEST(CriticalPathProperties, TheRequestedStepsAreTheWindow) {
  support::SyntheticOptions synthetic;
  synthetic.steps = 8;
  model::Run const run = make_synthetic_run(synthetic);
  AnalyzeOptions options;
  options.steps = {3, 4};

  Analysis const analysis = analyze(run, options);
  ASSERT_TRUE(analysis.critical_path);

  Interval window = analysis.devices[0].window;
  for (DeviceStats const& device : analysis.devices)
    window = {std::min(window.begin, device.window.begin), std::max(window.end, device.window.end)};
  EXPECT_EQ(analysis.critical_path->window, window);
  EXPECT_EQ(sum_of(analysis.critical_path->by_class), window.length());

  std::vector<int64_t> steps;
  int64_t in_steps = 0;
  for (PathStep const& step : analysis.critical_path->steps) {
    steps.push_back(step.step);
    in_steps += sum_of(step.by_class);
  }
  EXPECT_THAT(steps, ElementsAre(3, 4));
  // Between them the host returns from its sync.
  EXPECT_EQ(in_steps, analysis.steps[0].window.length() + analysis.steps[1].window.length());
}

TEST(CriticalPathProperties, OfARunWithAFaultIsMadeOfTheFault) {
  auto const share = [](support::SyntheticOptions const& options, PathClass path_class) {
    CriticalPathStats const path = path_of(make_synthetic_run(options));
    return static_cast<double>(ns_of(path, path_class)) / static_cast<double>(path.window.length());
  };

  support::SyntheticOptions const healthy;
  EXPECT_GT(share(healthy, PathClass::kCompute), 0.9);

  support::SyntheticOptions options = healthy;
  options.input_delay_ns = 30'000'000;
  EXPECT_GT(share(options, PathClass::kInput), 0.5);

  options = healthy;
  options.host_delay_ns = 3'000'000;
  EXPECT_GT(share(options, PathClass::kHost), 0.5);

  options = healthy;
  options.link_bytes_per_ns = 0.2;
  EXPECT_GT(share(options, PathClass::kCommunication), 0.5);

  options = healthy;
  options.allocate_in_step = true;
  options.forward_ns = options.backward_ns = 50'000;
  EXPECT_GT(share(options, PathClass::kAllocation), 0.3);

  options = healthy;
  options.copy_ns = 40'000'000;
  EXPECT_GT(share(options, PathClass::kCopy), 0.5);
}

TEST(CriticalPathProperties, GoesThroughTheStraggler) {
  for (bool const is_process : {false, true}) {
    support::SyntheticOptions options;
    options.devices = 4;
    options.process_per_device = is_process;
    options.straggler_device = 2;

    CriticalPathStats const path = path_of(make_synthetic_run(options));
    int64_t of_straggler = 0;
    for (PathPlace const& place : path.places)
      if (place.device == 2) of_straggler += sum_of(place.by_class);
    EXPECT_GT(of_straggler, path.window.length() * 9 / 10) << is_process;
  }
}

TEST(CriticalPathProperties, PiecesTileTheWindow) {
  for (uint32_t seed = 0; seed < (support::kSanitized ? 50U : 300U); ++seed) {
    model::Run const run = RandomPathRun(seed).make();
    Analysis const analysis = analyze(run);
    if (!analysis.critical_path) continue;
    CriticalPathStats const& path = *analysis.critical_path;
    ASSERT_EQ(sum_of(path.by_class), path.window.length()) << seed;

    int64_t pieces = 0, places = 0;
    for (PathPiece const& piece : path_pieces(run, analysis, 10'000)) {
      ASSERT_GT(piece.when.length(), 0);
      pieces += piece.when.length();
    }
    for (PathPlace const& place : path.places) places += sum_of(place.by_class);
    ASSERT_EQ(pieces, path.window.length()) << seed;
    ASSERT_EQ(places, path.window.length()) << seed;

    // Within one rank the path never goes back in time.
    if (run.ranks.size() > 1) continue;
    int64_t at = path.window.end;
    for (PathPiece const& piece : path_pieces(run, analysis, 10'000)) {
      ASSERT_LE(piece.when.end, at) << seed;
      at = piece.when.begin;
    }
  }
}

/// The path as JSON without the instant at which it begins.
nlohmann::ordered_json path_json_of(model::Run const& run) {
  AnalyzeOptions options;
  options.launch_latency_limit_ns = 12;
  auto json = reports::critical_path_json(run, analyze(run, options));
  if (!json.is_null()) json.erase("begin_ns");
  return json;
}

TEST(CriticalPathProperties, DoesNotDependOnWhenTheRunWas) {
  for (uint32_t seed = 0; seed < (support::kSanitized ? 40U : 200U); ++seed) {
    model::Run run = RandomPathRun(seed).make();
    auto const before = path_json_of(run);
    for (model::RankTrace& rank : run.ranks) rank.offset_ns += 1'700'000'000'000'000'000;
    ASSERT_EQ(path_json_of(run), before) << seed;
  }
}

TEST(CriticalPathProperties, DoesNotDependOnTheOrderOfTracks) {
  for (uint32_t seed = 0; seed < (support::kSanitized ? 60U : 500U); ++seed)
    ASSERT_EQ(path_json_of(RandomPathRun(seed, true).make()),
              path_json_of(RandomPathRun(seed).make()))
        << seed;
}

TEST(CriticalPathProperties, DoesNotDependOnTheOrderOfRanks) {
  for (uint32_t seed = 0; seed < (support::kSanitized ? 60U : 500U); ++seed) {
    model::Run run = RandomPathRun(seed).make();
    auto before = path_json_of(run);
    std::reverse(run.ranks.begin(), run.ranks.end());
    auto after = path_json_of(run);
    if (before.is_null()) continue;

    for (auto* const json : {&before, &after}) {
      auto& places = (*json)["places"];
      std::sort(places.begin(), places.end(),
                [](auto const& a, auto const& b) { return a.dump() < b.dump(); });
      for (auto& step : (*json)["steps"]) step.erase("rank");  // of equal ones the first
    }
    ASSERT_EQ(after, before) << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
