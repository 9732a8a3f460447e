// Rules and the critical path need numbers from the rows of a process, which a streamed analysis
// has only while it reads that process. Both ways to read a run print the same analysis.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/steps/skeleton_rows.h"
#include "reports/json/json.h"
#include "tests/unit/analyzer/made_ranks.h"
#include "tests/unit/analyzer/rules/work/work_run.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::analyzer {
namespace {
namespace streamed_stats {

using testing_support::finding_of;
using testing_support::metric_of;
using testing_support::WorkRun;

constexpr int64_t kUs = 1'000, kMs = 1'000 * kUs;

/// The analysis in memory, after a look whether the streamed one prints the same.
Analysis analyze_both_ways(std::function<model::Run()> const& make) {
  model::Run const run = make();
  model::Run skeleton = make();
  for (model::RankTrace& rank : skeleton.ranks) {
    std::vector<uint32_t> const rows = skeleton_rows(rank.trace);
    rank.trace = model::skeleton_of(std::move(rank.trace), rows);
  }

  auto const read = [&](size_t process) -> base::Expected<model::RankTrace> {
    return std::move(make().ranks[process]);
  };
  auto const streamed =
      analyze({skeleton, read, [&](size_t process, Interval) { return read(process); }}, {});
  Analysis in_memory = analyze(run);

  EXPECT_TRUE(streamed);
  if (streamed) {
    EXPECT_EQ(reports::analysis_json(skeleton, *streamed), reports::analysis_json(run, in_memory));
  }
  return in_memory;
}

/// Steps of 300 ms with 40 ms on the device. The host decodes a video for `decoding` ns, then
/// scales images for 180 ms with `frames` calls of Python functions.
model::Run prepare_input_in_the_step(int64_t decoding, int64_t frames) {
  WorkRun run;
  for (int64_t i = 0; i < 8; ++i) {
    int64_t const begin = i * 300 * kMs;
    run.step(begin, 299 * kMs, i);
    run.range(begin, decoding, "video.py(25): read_video");
    run.range(begin + decoding, 180 * kMs, "images.py(235): preprocess");
    for (int64_t frame = 0; frame < frames; ++frame)
      run.range(begin + decoding + frame * kMs, kMs / 2, "<built-in method resize>");

    uint64_t const call = run.launch(begin + decoding + 180 * kMs, 10 * kUs);
    run.kernel(begin + decoding + 180 * kMs + 10 * kUs, 40 * kMs, call);
  }
  return run.finish();
}

std::string subject_of(Finding const& finding, std::string_view role) {
  for (auto const& [key, name] : finding.subjects)
    if (key == role) return name;
  return {};
}

TEST(StreamedFacts, TheHostsSecondPieceOfWorkIsNamed) {
  Analysis const analysis =
      analyze_both_ways([] { return prepare_input_in_the_step(40 * kMs, 0); });
  Finding const* const late = finding_of(analysis, "host-bound-launches");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(subject_of(*late, "host_op"), "images.py(235): preprocess");
  EXPECT_EQ(subject_of(*late, "other_host_op"), "video.py(25): read_video");
  EXPECT_NEAR(metric_of(*late, "other_host_op_ns_per_step"), 40e6, 1e6);
}

TEST(StreamedFacts, ASmallPieceOfWorkHasNoName) {
  Analysis const analysis =
      analyze_both_ways([] { return prepare_input_in_the_step(15 * kMs, 0); });
  Finding const* const late = finding_of(analysis, "host-bound-launches");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(subject_of(*late, "other_host_op"), "");
}

TEST(StreamedFacts, CallsOfPythonFunctionsAreCounted) {
  Analysis const analysis =
      analyze_both_ways([] { return prepare_input_in_the_step(40 * kMs, 150); });
  Finding const* const overhead = finding_of(analysis, "profiler-overhead");
  ASSERT_NE(overhead, nullptr);
  EXPECT_EQ(metric_of(*overhead, "python_frames_per_step"), 152);
}

/// 24 layers a step: two products each, and a softmax that stands between them or apart.
model::Run softmax_among_products(bool is_between) {
  static constexpr char kProduct[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nn";
  static constexpr char kSoftmax[] = "void cunn_SoftMaxForward<8, c10::BFloat16, float>";
  WorkRun run;
  for (int64_t i = 0; i < 6; ++i) {
    int64_t const begin = i * 10 * kMs;
    run.step(begin, 10 * kMs - 1, i);
    int64_t at = begin + 20 * kUs;
    auto const add = [&](char const* name) {
      run.kernel(at, 100 * kUs, run.launch(at - 15 * kUs, 5 * kUs), name);
      at += 100 * kUs;
    };

    for (int layer = 0; layer < 24; ++layer) {
      add(kProduct);
      if (is_between) add(kSoftmax);
      add(kProduct);
    }
    for (int layer = 0; layer < 24 && !is_between; ++layer) add(kSoftmax);
  }
  return run.finish();
}

TEST(StreamedFacts, SoftmaxIsAttentionWhereItStandsBetweenProducts) {
  EXPECT_NE(finding_of(analyze_both_ways([] { return softmax_among_products(true); }),
                       "unfused-attention"),
            nullptr);
  EXPECT_EQ(finding_of(analyze_both_ways([] { return softmax_among_products(false); }),
                       "unfused-attention"),
            nullptr);
}

/// A device whose kernels start 20 µs after their launch, and once in a step 25 µs.
model::Run slow_to_start() {
  WorkRun run;
  for (int64_t i = 0; i < 6; ++i) {
    int64_t const begin = i * 10 * kMs;
    run.step(begin, 10 * kMs - 1, i);

    for (int64_t op = 0; op < 20; ++op) {
      int64_t const call = begin + op * 400 * kUs;
      uint64_t const correlation = run.launch(call, 5 * kUs);
      run.kernel(call + (op == 7 ? 30 : 25) * kUs, 50 * kUs, correlation);
    }
  }
  return run.finish();
}

TEST(StreamedFacts, TheCriticalPathKnowsTheDevicesOwnDelay) {
  Analysis const analysis = analyze_both_ways(slow_to_start);
  ASSERT_EQ(analysis.devices.size(), 1U);
  EXPECT_GT(analysis.devices[0].launch.latency_limit_ns, 25 * kUs);
}

}  // namespace streamed_stats
}  // namespace
}  // namespace stepscope::analyzer
