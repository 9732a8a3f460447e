// The rules about memory on both sides of their thresholds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/memory/memory_holes.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

constexpr uint64_t kMb = 1'000'000;

/// Ten steps of a device that holds 400 of 1000 MB, and uses nearly all of them.
Analysis sound_memory() {
  Analysis facts;
  DeviceStats device;
  device.window = {0, 1000};
  device.memory.capacity_bytes = 1000 * kMb;
  device.memory.peak_reserved_bytes = 400 * kMb;
  device.memory.peak_allocated_bytes = 380 * kMb;
  device.memory.fragmented_growth_bytes = 0;
  device.memory.retries = 0;
  facts.devices.push_back(device);

  for (int64_t i = 0; i < 10; ++i) {
    StepStats step;
    step.step = i;
    step.window = step.host_window = {i * 100, i * 100 + 100};
    step.time.window_ns = step.time.compute_ns = 100;
    step.warmup = i == 0;
    facts.steps.push_back(step);
  }
  return facts;
}

std::vector<Finding> memory_findings(Analysis const& facts, RuleFunction rule) {
  model::Run run;
  run.ranks.emplace_back();
  MeasuredSteps const steps = measure_steps(facts);
  std::vector<Finding> findings;
  rule({run, facts, steps.steady, steps}, findings);
  return findings;
}

double memory_metric_of(Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  ADD_FAILURE() << "no metric " << key;
  return 0;
}

TEST(MemoryFragmentationRule, NamesAReserveThatGrewForHoles) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  memory.peak_allocated_bytes = 300 * kMb;
  memory.fragmented_growth_bytes = 50 * kMb;
  memory.fragmented_growth = {{250, 50 * kMb}};

  auto const found = memory_findings(facts, find_memory_fragmentation);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "memory-fragmentation");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_FALSE(found[0].cost_ns_per_step);
  EXPECT_EQ(memory_metric_of(found[0], "unused_bytes"), 100 * kMb);
  ASSERT_EQ(found[0].evidence.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].when.begin, 250);

  memory.peak_allocated_bytes = 301 * kMb;  // just less than a quarter is too much
  EXPECT_THAT(memory_findings(facts, find_memory_fragmentation), testing::IsEmpty());
  memory.peak_allocated_bytes = 300 * kMb;
  memory.fragmented_growth_bytes = 49 * kMb;  // most of it is from a time before
  EXPECT_THAT(memory_findings(facts, find_memory_fragmentation), testing::IsEmpty());
}

TEST(MemoryFragmentationRule, NamesHolesOfANearlyFullDevice) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  memory.peak_reserved_bytes = 800 * kMb;
  memory.peak_allocated_bytes = 790 * kMb;

  memory.timeline = {{10, 100 * kMb, 400 * kMb, {}},
                     {20, 600 * kMb, 800 * kMb, {}},
                     {30, 100 * kMb, 800 * kMb, {}}};
  memory.fragmentation = 0.5;
  EXPECT_EQ(memory_findings(facts, find_memory_fragmentation).size(), 1U);

  memory.fragmentation = 0.49;
  EXPECT_THAT(memory_findings(facts, find_memory_fragmentation), testing::IsEmpty());

  memory.fragmentation = 0.5;
  memory.peak_reserved_bytes = 799 * kMb;
  EXPECT_THAT(memory_findings(facts, find_memory_fragmentation), testing::IsEmpty());
}

TEST(MemoryFragmentationRule, IsCriticalWhereMemoryWillSoonBeFullAndNamesTheWorstDevice) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  memory.peak_allocated_bytes = 200 * kMb;
  memory.fragmented_growth_bytes = 200 * kMb;
  facts.devices.push_back(facts.devices[0]);
  facts.devices[1].ref.device = 1;
  facts.devices[1].memory.peak_allocated_bytes = 100 * kMb;
  facts.devices[1].memory.reserved_forecast.emplace().steps = 999;

  auto found = memory_findings(facts, find_memory_fragmentation);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where->device, 1);
  EXPECT_EQ(found[0].severity, Severity::kCritical);
  EXPECT_EQ(memory_metric_of(found[0], "devices"), 2);

  facts.devices[1].memory.reserved_forecast->steps = 1000;
  EXPECT_EQ(memory_findings(facts, find_memory_fragmentation)[0].severity, Severity::kWarning);
}

/// A device whose memory floor rises by `bytes_per_step`.
Analysis leaking(uint64_t bytes_per_step) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  memory.floor_growth_bytes_per_step = static_cast<double>(bytes_per_step);
  for (uint64_t i = 0; i < 10; ++i)
    memory.timeline.push_back(
        {static_cast<int64_t>(i) * 100, 100 * kMb + i * bytes_per_step, 400 * kMb, {}});
  return facts;
}

TEST(MemoryLeakRule, IsSilentWhereHolesAndNotWhatStaysFillMemory) {
  Analysis facts = leaking(kMb);
  EXPECT_EQ(memory_findings(facts, find_memory_leak).size(), 1U);

  MemoryStats& memory = facts.devices[0].memory;
  memory.peak_allocated_bytes = 300 * kMb;
  memory.fragmented_growth_bytes = 90 * kMb;  // ten times what nine steps leave behind
  EXPECT_THAT(memory_findings(facts, find_memory_leak), testing::IsEmpty());
  EXPECT_EQ(memory_findings(facts, find_memory_fragmentation).size(), 1U);

  facts = leaking(5 * kMb);  // twice: then both are true
  facts.devices[0].memory.peak_allocated_bytes = 300 * kMb;
  facts.devices[0].memory.fragmented_growth_bytes = 90 * kMb;
  EXPECT_EQ(memory_findings(facts, find_memory_leak).size(), 1U);
  EXPECT_EQ(memory_findings(facts, find_memory_fragmentation).size(), 1U);
}

TEST(MemoryLeakRule, ForecastsWhenMemoryIsFullOnlyWhereThatIsSure) {
  Analysis facts = leaking(kMb);
  EXPECT_EQ(memory_findings(facts, find_memory_leak)[0].metrics.size(), 1U);

  auto& forecast = facts.devices[0].memory.floor_forecast.emplace();
  forecast.steps = 1000;
  forecast.earliest_steps = 900;
  forecast.latest_steps = 1100;
  forecast.time_ns = 5'000'000'000;

  Finding const later = memory_findings(facts, find_memory_leak)[0];
  EXPECT_EQ(later.severity, Severity::kWarning);
  EXPECT_EQ(memory_metric_of(later, "latest_steps_to_full"), 1100);
  EXPECT_EQ(memory_metric_of(later, "time_to_full_ns"), 5e9);

  forecast.steps = 999;
  EXPECT_EQ(memory_findings(facts, find_memory_leak)[0].severity, Severity::kCritical);
}

TEST(MemoryPressureRule, NamesAnAllocatorThatHasToGiveBackFirst) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  EXPECT_THAT(memory_findings(facts, find_memory_pressure), testing::IsEmpty());

  memory.retries = 1;
  EXPECT_THAT(memory_findings(facts, find_memory_pressure), testing::IsEmpty());

  memory.retries = 2;
  memory.retries_at = {300, 500};
  memory.batch_factor = 2.5;
  auto const found = memory_findings(facts, find_memory_pressure);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(memory_metric_of(found[0], "retries"), 2);
  EXPECT_EQ(memory_metric_of(found[0], "batch_factor"), 2.5);
  EXPECT_EQ(found[0].evidence.size(), 2U);

  memory.capacity_bytes.reset();  // needs no capacity
  EXPECT_EQ(memory_findings(facts, find_memory_pressure).size(), 1U);
}

TEST(MemoryPressureRule, NamesAReserveThatFillsMemoryWithinAsManyStepsAgain) {
  Analysis facts = sound_memory();
  MemoryStats& memory = facts.devices[0].memory;
  memory.reserved_forecast.emplace().steps = 9;  // nine steps are measured
  EXPECT_THAT(memory_findings(facts, find_memory_pressure), testing::IsEmpty());

  memory.reserved_forecast->steps = 8.9;
  ASSERT_EQ(memory_findings(facts, find_memory_pressure).size(), 1U);
  EXPECT_EQ(memory_metric_of(memory_findings(facts, find_memory_pressure)[0], "steps_to_full"),
            8.9);

  memory.floor_forecast.emplace();  // a leak: its rule says so
  EXPECT_THAT(memory_findings(facts, find_memory_pressure), testing::IsEmpty());

  memory.floor_forecast.reset();
  memory.peak_allocated_bytes = 200 * kMb;  // holes: their rule says so
  memory.fragmented_growth_bytes = 200 * kMb;
  EXPECT_THAT(memory_findings(facts, find_memory_pressure), testing::IsEmpty());
}

TEST(MemoryPressureRule, NamesTheFullestDevice) {
  Analysis facts = sound_memory();
  facts.devices[0].memory.peak_reserved_bytes = 905 * kMb;
  facts.devices.push_back(facts.devices[0]);
  facts.devices[1].ref.device = 1;
  facts.devices[1].memory.peak_reserved_bytes = 985 * kMb;
  facts.devices.push_back(sound_memory().devices[0]);
  facts.devices[2].ref.device = 2;
  facts.devices[2].memory.retries = 5;

  auto const found = memory_findings(facts, find_memory_pressure);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where->device, 1);
  EXPECT_EQ(found[0].severity, Severity::kCritical);

  facts.devices[0].memory.peak_reserved_bytes = facts.devices[1].memory.peak_reserved_bytes =
      900 * kMb;
  EXPECT_EQ(memory_findings(facts, find_memory_pressure)[0].where->device, 2);
}

}  // namespace
}  // namespace stepscope::analyzer
