// The replayed curve of runs in files: that of the same runs in memory.
#include "run_loading/replayed_series.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/analyze.h"
#include "analyzer/compare/run_sample.h"
#include "analyzer/whatif/scaling_curve.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/writer.h"

namespace stepscope::run_loading {
namespace {

using testing::HasSubstr;

class ReplayedSeriesTest : public ::testing::Test {
 protected:
  ReplayedSeriesTest() {
    for (int32_t const devices : {2, 4}) {
      runs_.push_back(support::make_synthetic_run(
          {.devices = devices, .steps = 12, .process_per_device = true, .overlap = false}));
      std::filesystem::path const folder = folder_ / std::to_string(devices);
      std::filesystem::create_directories(folder);
      for (size_t rank = 0; rank < runs_.back().ranks.size(); ++rank)
        EXPECT_TRUE(file::write_trace(runs_.back().ranks[rank].trace,
                                      (folder / fmt::format("rank{}.stepscope", rank)).string()));

      analyses_.push_back(analyzer::analyze(runs_.back()));
      samples_.push_back(analyzer::sample_run(runs_.back(), analyses_.back()));
      samples_.back().name = folder.string();
    }
    series_ = analyzer::scale_series(samples_, {analyzer::ScalingKind::kWeak, {}});
  }
  ~ReplayedSeriesTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  fmt::format("stepscope-replayed-series-{}", getpid());
  std::vector<model::Run> runs_;
  std::vector<analyzer::Analysis> analyses_;
  std::vector<analyzer::RunMeasurements> samples_;
  analyzer::ScalingSeries series_;
};

TEST_F(ReplayedSeriesTest, IsThatOfTheRunsInMemory) {
  ASSERT_FALSE(series_.refusal);
  auto const curve = replay_series(series_, samples_);
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_FALSE(curve->refusal);
  EXPECT_EQ(curve->base_devices, 4U);

  auto const expected = analyzer::predict_curve(
      {series_, samples_, samples_[1], analyses_[1]},
      [&](analyzer::WhatIfQuestion const& question) -> base::Expected<analyzer::WhatIfStats> {
        return analyzer::what_if(runs_[1], analyses_[1], question);
      });
  ASSERT_TRUE(expected);
  ASSERT_EQ(curve->points.size(), expected->points.size());
  for (size_t i = 0; i < curve->points.size(); ++i) {
    EXPECT_EQ(curve->points[i].devices, expected->points[i].devices);
    EXPECT_DOUBLE_EQ(curve->points[i].step_ns.value, expected->points[i].step_ns.value);
  }
}

TEST_F(ReplayedSeriesTest, ReadsNothingOnceItIsGivenUp) {
  auto const curve = replay_series(series_, samples_, [] { return true; });
  ASSERT_FALSE(curve);
  EXPECT_THAT(curve.error().message, HasSubstr("given up"));
}

TEST_F(ReplayedSeriesTest, NamesARunThatIsGone) {
  std::filesystem::remove_all(folder_ / "4");
  auto const curve = replay_series(series_, samples_);
  ASSERT_FALSE(curve);
  EXPECT_THAT(curve.error().message, HasSubstr("4"));
}

}  // namespace
}  // namespace stepscope::run_loading
