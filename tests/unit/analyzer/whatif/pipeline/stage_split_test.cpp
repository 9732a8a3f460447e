// Layers in stages: the slowest stage is as fast as the best of all possible splits.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/pipeline/stage_split.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;

/// The slowest stage of the best split, by trying all.
double best_of_all(std::vector<double> const& layers, std::vector<double> const& fixed,
                   size_t stage = 0, size_t first = 0) {
  double own = fixed[stage];
  if (stage + 1 == fixed.size())
    return own + std::accumulate(layers.begin() + static_cast<ptrdiff_t>(first), layers.end(), 0.0);

  double best = std::numeric_limits<double>::infinity();
  for (size_t last = first; last <= layers.size(); ++last) {
    best = std::min(best, std::max(own, best_of_all(layers, fixed, stage + 1, last)));
    if (last < layers.size()) own += layers[last];
  }
  return best;
}

TEST(StageSplit, MovesWholeLayers) {
  EXPECT_THAT(split_layers({1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0}), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(split_layers({3, 1, 1, 1}, {0, 0}), ElementsAre(3, 3));
  EXPECT_THAT(split_layers({1, 1, 1, 1}, {2, 0}), ElementsAre(3, 3));
  EXPECT_THAT(split_layers({}, {5, 7}), ElementsAre(5, 7));
  EXPECT_TRUE(split_layers({1, 2}, {}).empty());
}

TEST(StageSplit, IsAsGoodAsTheBestOfAll) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> count(0, 9), stages(1, 4), time(0, 20);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> layers(static_cast<size_t>(count(random)));
    std::vector<double> fixed(static_cast<size_t>(stages(random)));
    std::generate(layers.begin(), layers.end(), [&] { return time(random); });
    std::generate(fixed.begin(), fixed.end(), [&] { return time(random); });

    std::vector<double> const times = split_layers(layers, fixed);
    ASSERT_EQ(times.size(), fixed.size());
    EXPECT_DOUBLE_EQ(*std::max_element(times.begin(), times.end()), best_of_all(layers, fixed));
    EXPECT_DOUBLE_EQ(std::accumulate(times.begin(), times.end(), 0.0),
                     std::accumulate(layers.begin(), layers.end(), 0.0) +
                         std::accumulate(fixed.begin(), fixed.end(), 0.0));
  }
}

}  // namespace
}  // namespace stepscope::analyzer
