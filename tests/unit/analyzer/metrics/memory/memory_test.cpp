// Owners of memory, fragmentation, growth and the forecast of when it is full, on runs small enough
// to check by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "analyzer/analyze.h"
#include "analyzer/metrics/memory/memory_calls.h"
#include "analyzer/metrics/memory/memory_growth.h"
#include "analyzer/metrics/memory/memory_owners.h"
#include "tests/unit/analyzer/rules/memory/memory_run.h"

namespace stepscope::analyzer {
namespace {

using model::MemoryPurpose;
using testing_support::MemoryRun;

std::vector<std::pair<std::string, uint64_t>> owners_in(MemoryStats const& memory) {
  std::vector<std::pair<std::string, uint64_t>> owners;
  for (auto const& owner : memory.peak_owners.value().owners)
    owners.emplace_back(owner.name, owner.bytes);
  return owners;
}

uint64_t sum_of_parts(MemoryOwners const& owners) {
  uint64_t sum = owners.other_bytes + owners.before_recording_bytes;
  for (auto const& owner : owners.owners) sum += owner.bytes;
  return sum;
}

class MemoryOwnersInRanges : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, MemoryOwnersInRanges, testing::Bool(), [](auto const& nested) {
  return nested.param ? "WithDepth" : "WithoutDepth";
});

TEST_P(MemoryOwnersInRanges, AreNamedByTheAllocationElseByTheInnermostRangeAround) {
  MemoryRun run(1000);
  if (!GetParam()) run.leave_out_depth();
  run.range(0, 100, "forward", model::EventKind::kPhase);
  run.range(10, 50, "aten::conv2d");
  run.range(12, 14, "earlier sibling");
  run.range(20, 30, "aten::empty");

  run.allocate(25, {.address = 1, .bytes = 10, .name = "[memory]"}, 100);
  run.allocate(60, {.address = 20, .bytes = 20, .name = "conv1.weights"}, 100);
  run.allocate(70, {.address = 50, .bytes = 30, .name = "cudaMalloc"}, 100);
  run.allocate(110, {.address = 90, .bytes = 5, .name = "cudaMalloc"}, 100);
  run.range(120, 130, "aten::empty_strided");
  run.allocate(125, {.address = 95, .bytes = 4, .name = "[memory]"}, 100);

  MemoryStats const memory = std::move(run).facts();
  EXPECT_THAT(
      owners_in(memory),
      testing::ElementsAre(testing::Pair("forward", 30), testing::Pair("conv1.weights", 20),
                           testing::Pair("aten::conv2d", 10), testing::Pair("cudaMalloc", 5),
                           testing::Pair("aten::empty_strided", 4)));
  EXPECT_EQ(memory.peak_owners->before_recording_bytes, 0U);
}

TEST(MemoryOwners, AreThoseOfTheFirstPeakAndSumToIt) {
  MemoryRun run(1000);
  run.set_before(500);

  run.allocate(10, {.address = 1, .bytes = 40, .name = "gone before the peak"}, 0);
  run.allocate(20, {.address = 100, .bytes = 60, .name = "stays"}, 0);
  run.free(30, {.address = 1, .bytes = 40}, 0);
  run.allocate(40, {.address = 1, .bytes = 90, .name = "at the peak"}, 0);
  run.free(50, {.address = 1, .bytes = 90}, 0);
  run.allocate(60, {.address = 1, .bytes = 90, .name = "as high again"}, 0);

  MemoryStats const memory = std::move(run).facts();
  EXPECT_EQ(memory.peak_allocated_bytes, 650U);
  EXPECT_THAT(owners_in(memory),
              testing::ElementsAre(testing::Pair("at the peak", 90), testing::Pair("stays", 60)));

  EXPECT_EQ(memory.peak_owners->before_recording_bytes, 500U);
  EXPECT_EQ(sum_of_parts(*memory.peak_owners), 650U);
}

TEST(MemoryOwners, BeyondTheLargestAreOther) {
  MemoryRun run(10000);
  for (uint64_t i = 0; i < kMostOwners + 3; ++i)
    run.allocate(static_cast<int64_t>(i),
                 {.address = i * 100, .bytes = 50 - i, .name = "owner " + std::to_string(i)}, 0);
  MemoryStats const memory = std::move(run).facts();
  ASSERT_EQ(memory.peak_owners->owners.size(), kMostOwners);
  EXPECT_EQ(memory.peak_owners->owners[0].name, "owner 0");
  EXPECT_EQ(memory.peak_owners->other_bytes, 30U + 29 + 28);
  EXPECT_EQ(sum_of_parts(*memory.peak_owners), memory.peak_allocated_bytes);
}

TEST(MemoryOwners, AreUnknownWhereFreesAreMissing) {
  MemoryRun run(1000);
  run.allocate(10, {.address = 1, .bytes = 40}, 0);
  run.set_before(0);  // all was freed, unseen
  run.allocate(20, {.address = 100, .bytes = 50}, 0);
  EXPECT_FALSE(std::move(run).facts().peak_owners);
}

TEST(MemoryOwners, OfSomeStepsAreThoseOfTheirPeak) {
  MemoryRun run(1000, 6);
  run.allocate(100, {.address = 1, .bytes = 40, .name = "weights"}, 0);
  run.allocate(2100, {.address = 100, .bytes = 500, .name = "of step 2"}, 0);
  run.free(2200, {.address = 100, .bytes = 500}, 0);
  run.allocate(4100, {.address = 100, .bytes = 5, .name = "of step 4"}, 0);

  AnalyzeOptions options;
  options.steps = {4, 4};

  MemoryStats const memory = std::move(run).facts(options);
  EXPECT_EQ(memory.peak_allocated_bytes, 45U);
  EXPECT_THAT(owners_in(memory),
              testing::ElementsAre(testing::Pair("weights", 40), testing::Pair("of step 4", 5)));
}

TEST(MemoryFragmentation, IsWhatIsFreeOutsideOfTheLargestGapWhenMostIsReserved) {
  MemoryRun run(1000);
  for (uint64_t i = 0; i < 4; ++i)
    run.allocate(static_cast<int64_t>(i), {.address = i * 10, .bytes = 10}, 40);

  run.free(10, {.address = 0, .bytes = 10}, 40);
  run.free(11, {.address = 20, .bytes = 10}, 40);
  run.allocate(12, {.address = 100, .bytes = 15},
               70);  // 20 were free, in two holes; of the new segment 15 are left

  MemoryStats const memory = std::move(run).facts();
  EXPECT_EQ(memory.peak_reserved_bytes, 70U);
  EXPECT_DOUBLE_EQ(memory.fragmentation.value(), 1 - 15.0 / 35);

  EXPECT_EQ(memory.stranded_bytes, 20U);
  EXPECT_DOUBLE_EQ(memory.worst_fragmentation.value(), 20.0 / 35);
  EXPECT_EQ(memory.fragmented_growth_bytes, 30U);
  ASSERT_EQ(memory.fragmented_growth.size(), 1U);
  EXPECT_EQ(memory.fragmented_growth[0].time_ns, 12);
}

TEST(MemoryFragmentation, DoesNotCountMemoryThatIsTakenPastTheCacheAndGivenBack) {
  MemoryRun run(1000);
  for (uint64_t i = 0; i < 4; ++i)
    run.allocate(static_cast<int64_t>(i), {.address = i * 10, .bytes = 10}, 40);
  run.free(10, {.address = 0, .bytes = 10}, 40);
  run.free(11, {.address = 20, .bytes = 10}, 40);

  for (int64_t i = 0; i < 3; ++i) {
    run.allocate(20 + 10 * i, {.address = 100, .bytes = 15}, 55);
    run.free(25 + 10 * i, {.address = 100, .bytes = 15}, 40);
  }
  run.allocate(60, {.address = 200, .bytes = 15}, 55);  // the cache's: its memory stays reserved
  run.free(61, {.address = 200, .bytes = 15}, 55);

  MemoryStats const memory = std::move(run).facts();
  EXPECT_EQ(memory.fragmented_growth_bytes, 15U);
  ASSERT_EQ(memory.fragmented_growth.size(), 1U);
  EXPECT_EQ(memory.fragmented_growth[0].time_ns, 60);
}

TEST(MemoryFragmentation, IsUnknownWhereGapsAreNotKnownOrNothingIsFree) {
  MemoryRun late(1000);
  late.set_before(10);
  late.allocate(1, {.address = 100, .bytes = 10}, 40);
  EXPECT_FALSE(std::move(late).facts().fragmentation)
      << "the allocator is older than the recording";

  MemoryRun full(1000);
  full.allocate(1, {.address = 100, .bytes = 40}, 40);
  MemoryStats const memory = std::move(full).facts();
  EXPECT_FALSE(memory.fragmentation) << "nothing is free";
  EXPECT_FALSE(memory.worst_fragmentation);

  MemoryRun pooled(1000);
  pooled.allocate(1, {.address = 100, .bytes = 10}, 40);
  pooled.allocate(2, {.address = 500, .bytes = 10}, 40);
  MemoryStats const refuted = std::move(pooled).facts();
  EXPECT_FALSE(refuted.fragmentation) << "a block lies outside of every segment";
  EXPECT_FALSE(refuted.stranded_bytes);
}

TEST(MemoryFragmentation, OnlyGrowthDespiteEnoughFreeMemoryInMeasuredStepsCounts) {
  std::vector<MemoryStats::Point> const timeline = {
      {5, 100, 100, {}},  {15, 150, 150, {}},  // nothing was free
      {20, 50, 150, {}},  {25, 160, 260, {}},  // 100 were free for 110
      {30, 60, 260, {}},  {35, 160, 360, {}},  // 200 were free for 100
      {45, 161, 370, {}},                      // between the steps
      {55, 160, 380, {}},                      // nothing was allocated
      {56, 162, 381, {}}};

  auto const growth = growth_despite_room(timeline, {{10, 40}, {50, 60}});
  ASSERT_EQ(growth.size(), 2U);
  EXPECT_EQ(growth[0].time_ns, 35);
  EXPECT_EQ(growth[0].bytes, 100U);
  EXPECT_EQ(growth[1].bytes, 1U);
  EXPECT_EQ(growth_despite_room(timeline, {}).size(), 3U);
}

TEST(MemoryRetries, AreSeenInTheTotals) {
  MemoryRun run(1000, 8);
  run.allocate(10, {.address = 1, .bytes = 100}, 400);
  run.allocate(2100, {.address = 200, .bytes = 50}, 300);  // gave back more than it took
  run.allocate(3100, {.address = 300, .bytes = 50}, 500);
  run.free(4100, {.address = 200, .bytes = 50}, 350);  // the cache was emptied
  run.allocate(4200, {.address = 200, .bytes = 50}, 350);
  run.allocate(4300, {.address = 400, .bytes = 50}, 450);  // and is filled again

  MemoryStats const memory = std::move(run).facts();
  EXPECT_EQ(memory.retries, 2U);
  EXPECT_THAT(memory.retries_at, testing::ElementsAre(2100, 4300));
}

TEST(MemoryRetries, AreNoneWithoutACache) {
  MemoryRun run(1000, 8);
  for (int64_t i = 0; i < 7; ++i) {
    run.allocate(1000 * i + 100, {.address = 1, .bytes = 100}, 100);
    run.free(1000 * i + 200, {.address = 1, .bytes = 100}, 0);
  }
  EXPECT_EQ(std::move(run).facts().retries, 0U);
  EXPECT_FALSE(MemoryRun(1000, 8).facts().retries) << "no reserve is known";
}

TEST(MemoryRetries, AreSeenInTheCallsOfAFrameworksAllocator) {
  MemoryRun run(1000, 8);
  run.allocate(10, {.address = 1, .bytes = 100, .name = "[memory]"}, 200);

  // The allocation fails, the cache is emptied, and the retry succeeds: the reserved total stays
  // the same.
  for (int64_t const step : {2, 3}) {
    run.call(1000 * step + 100, "cudaMalloc");
    run.call(1000 * step + 101, "cudaFree");
    if (step == 3) run.launch(1000 * step + 102);  // what came before was for something else
    run.call(1000 * step + 103, "cudaMalloc");
    run.allocate(1000 * step + 104,
                 {.address = 1000 + static_cast<uint64_t>(step), .bytes = 1, .name = "[memory]"},
                 200);
  }

  EXPECT_THAT(std::move(run).facts().retries_at, testing::ElementsAre(2104));
}

TEST(MemoryRetries, AreSeenWhereACallGotNothing) {
  MemoryRun run(1000, 8);
  run.allocate(10, {.address = 1, .bytes = 100, .name = "cudaMalloc"}, 100);
  run.allocate(20, {.address = 200, .bytes = 100, .name = "cudaMalloc"}, 200);
  run.api(2100, "cudaMalloc");
  run.free(2110, {.address = 1, .bytes = 100}, 100);
  run.allocate(2120, {.address = 500, .bytes = 150, .name = "cudaMalloc"}, 250);
  run.free(3110, {.address = 200, .bytes = 100}, 150);
  run.allocate(3120, {.address = 700, .bytes = 50, .name = "cudaMalloc"}, 200);
  EXPECT_THAT(std::move(run).facts().retries_at, testing::ElementsAre(2120));
}

TEST(MemoryCalls, ThatPageLockHostMemoryAreCountedPerStep) {
  MemoryRun run(1000, 5);
  run.pin(100);  // in the warm-up
  run.pin(1100);
  run.call(1200, "cudaFreeHost");
  run.call(2100, "cudaHostRegister");
  run.call(2200, "cudaMalloc");

  MemoryStats const memory = std::move(run).facts();
  EXPECT_DOUBLE_EQ(memory.pinning_calls_per_step.value(), 3.0 / 4);
  EXPECT_FALSE(memory.peak_allocated_bytes) << "it is no device's memory";
  EXPECT_FALSE(MemoryRun(1000, 5).facts().pinning_calls_per_step);
}

TEST(MemoryCalls, NamesOfAllocatorsAreNoOwners) {
  for (char const* name : {"cudaMalloc", "cudaMallocAsync_v11020", "hipMalloc", "cuMemAlloc_v2",
                           "[memory]", "MemoryAllocation"})
    EXPECT_TRUE(is_allocator_name(name)) << name;
  for (char const* name : {"conv1.weights", "aten::empty", "", "my allocate"})
    EXPECT_FALSE(is_allocator_name(name)) << name;
}

StepBytes bytes_of_steps(std::vector<uint64_t> const& values) {
  return {values.begin(), values.end()};
}

TEST(MemoryForecast, OfAnEvenGrowthIsExact) {
  auto const forecast = forecast_of(bytes_of_steps({100, 110, 120, 130, 140, 150}), 1000, 7);
  ASSERT_TRUE(forecast);
  EXPECT_DOUBLE_EQ(forecast->bytes_per_step, 10);
  EXPECT_DOUBLE_EQ(forecast->standard_error_bytes, 0);
  EXPECT_DOUBLE_EQ(forecast->steps, 100);
  EXPECT_DOUBLE_EQ(forecast->earliest_steps, 100);
  EXPECT_EQ(forecast->time_ns, 700);
  EXPECT_FALSE(forecast_of(bytes_of_steps({100, 110, 120, 130, 140, 150}), 1000, {})->time_ns);
}

TEST(MemoryForecast, IsAbsentForNoiseAFilledCacheOrFewSteps) {
  EXPECT_FALSE(forecast_of(bytes_of_steps({100, 120, 90, 115, 95, 118, 99}), 1000, {})) << "noise";
  EXPECT_FALSE(forecast_of(bytes_of_steps({100, 200, 300, 300, 300, 300, 300, 300}), 1000, {}))
      << "a cache that filled";
  EXPECT_FALSE(forecast_of(bytes_of_steps({100, 110, 120, 130}), 1000, {})) << "four steps";
  EXPECT_FALSE(forecast_of(bytes_of_steps({150, 140, 130, 120, 110}), 1000, {})) << "it falls";
  EXPECT_FALSE(forecast_of(bytes_of_steps({100, 100, 100, 100, 100}), 1000, {})) << "it stays";
  EXPECT_FALSE(forecast_of({}, 1000, {}));
}

/// The interval has a confidence of 95 %: about as many noisy leaks have their true slope in it.
TEST(MemoryForecast, HasTheTrueRateInItsIntervalNineteenTimesInTwenty) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 100);
  int inside = 0, all = 0;

  for (int run = 0; run < 1000; ++run) {
    StepBytes floors;
    for (int step = 0; step < 12; ++step)
      floors.emplace_back(static_cast<uint64_t>(100'000 + 100 * step + noise(random)));

    auto const forecast = forecast_of(floors, 1e6, {});
    if (!forecast) continue;

    ++all;
    EXPECT_LE(forecast->earliest_steps, forecast->steps);
    EXPECT_LE(forecast->steps, forecast->latest_steps);
    if (forecast->earliest_steps <= 1e4 && 1e4 <= forecast->latest_steps) ++inside;
  }

  EXPECT_GT(all, 900);
  EXPECT_NEAR(static_cast<double>(inside) / all, 0.95, 0.03);
}

TEST(MemoryForecast, BeginsAtWhatTheLastStepHolds) {
  MemoryRun run(10'000, 10);
  for (uint64_t step = 0; step < 10; ++step)
    run.allocate(static_cast<int64_t>(step) * MemoryRun::kStepNs,
                 {.address = step * 100, .bytes = 100}, 1000 + 100 * step);

  MemoryStats const memory = std::move(run).facts();
  ASSERT_TRUE(memory.floor_forecast);
  EXPECT_DOUBLE_EQ(memory.floor_forecast->steps, (10'000.0 - 1900) / 100);
  EXPECT_EQ(memory.floor_forecast->time_ns, 81 * MemoryRun::kStepNs);
  EXPECT_DOUBLE_EQ(memory.reserved_growth_bytes_per_step.value(), 100);
  EXPECT_DOUBLE_EQ(memory.reserved_forecast.value().steps, 81);
}

TEST(MemoryBatchFactor, LetsWhatIsNotKnownToStayGrow) {
  std::array<uint64_t, 7> purposes{};
  auto const set = [&](MemoryPurpose purpose, uint64_t bytes) {
    purposes[static_cast<size_t>(purpose)] = bytes;
  };
  set(MemoryPurpose::kWeights, 100);
  set(MemoryPurpose::kGradients, 100);
  set(MemoryPurpose::kOptimizer, 200);
  set(MemoryPurpose::kActivations, 180);
  set(MemoryPurpose::kInput, 10);
  set(MemoryPurpose::kWorkspace, 10);

  EXPECT_DOUBLE_EQ(batch_factor(purposes, 1000).value(), (900.0 - 400) / 200);
  EXPECT_DOUBLE_EQ(batch_factor(purposes, 500).value(), 50.0 / 200)
      << "the present batch is too large";
  EXPECT_FALSE(batch_factor(purposes, 400)) << "what stays does not fit";

  set(MemoryPurpose::kOther, 66);
  EXPECT_TRUE(batch_factor(purposes, 1000));
  set(MemoryPurpose::kOther, 67);
  EXPECT_FALSE(batch_factor(purposes, 1000)) << "over a tenth is of unknown purpose";

  set(MemoryPurpose::kOther, 0);
  set(MemoryPurpose::kActivations, 0);
  EXPECT_FALSE(batch_factor(purposes, 1000)) << "no activations are known";
}

}  // namespace
}  // namespace stepscope::analyzer
