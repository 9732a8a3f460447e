#include "tests/cuda_emulation/kernel_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "tests/cuda_emulation/emulator.h"
#include "tests/cuda_emulation/guarded_memory.h"
#include "workloads/data/random.h"

namespace stepscope::cuda_emulation {
namespace {

using workloads::Buffer;
using workloads::Device;
using workloads::DeviceGroup;

struct Way {
  Order order;
  GuardedEnd end;
  char const* name;
};
// Each end of the arrays is guarded at least once.
constexpr Way kWays[] = {
    {Order::kForward, GuardedEnd::kBack, "threads in their order"},
    {Order::kWarpAhead, GuardedEnd::kFront, "backwards, a warp ahead"},
    {Order::kShuffled, GuardedEnd::kBack, "threads in random order"},
};

Device& host_device() {
  static DeviceGroup const group = workloads::open_devices("host", {}).value();
  return *group.devices.front();
}

Arrays run_on_host(KernelCase const& c, Arrays const& start) {
  Device& device = host_device();
  std::vector<Buffer> buffers;
  Pointers pointers;
  for (Array const& array : start) {
    size_t const bytes = array.size() * sizeof(float);
    buffers.push_back(device.allocate(bytes, workloads::MemoryPurpose::kOther, "test").value());
    std::memcpy(buffers.back().data(), array.data(), bytes);
    pointers.push_back(buffers.back().floats());
  }

  c.host(device, pointers);
  device.synchronize();
  EXPECT_TRUE(device.failure().has_value()) << c.name;

  Arrays results;
  for (size_t i = 0; i < start.size(); ++i)
    results.emplace_back(pointers[i], pointers[i] + start[i].size());
  return results;
}

/// What the kernels leave; empty after a fault, which is then a failure.
Arrays run_on_emulator(KernelCase const& c, Arrays const& start, Way const& way) {
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  Pointers pointers;
  for (Array const& array : start) {
    size_t const bytes = array.size() * sizeof(float);
    memory.push_back(
        std::make_unique<GuardedMemory>(bytes, way.end, "array " + std::to_string(memory.size())));
    std::memcpy(memory.back()->data(), array.data(), bytes);
    pointers.push_back(memory.back()->floats());
  }

  set_order(way.order);
  c.kernels(pointers);
  if (std::string const fault = take_fault(); !fault.empty()) {
    ADD_FAILURE() << c.name << ", " << way.name << ": " << fault;
    return {};
  }

  Arrays results;
  for (size_t i = 0; i < start.size(); ++i) {
    EXPECT_TRUE(memory[i]->is_surrounding_intact())
        << c.name << ", " << way.name << ": wrote beside " << memory[i]->name();
    results.emplace_back(pointers[i], pointers[i] + start[i].size());
  }
  return results;
}

std::vector<Values> as_doubles(Arrays const& arrays) {
  std::vector<Values> values;
  for (Array const& array : arrays) values.emplace_back(array.begin(), array.end());
  return values;
}

bool same_bits(Array const& a, Array const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
/// Also where both are the same not-a-number, as bits of integers can be.
bool same_values(Values const& a, Values const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// The first element that differs by more than the tolerance, in words; "" where none does.
std::string difference(Array const& actual, Values const& expected, double tolerance) {
  double largest = 1e-6;
  for (double const value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));

  for (size_t i = 0; i < actual.size(); ++i) {
    auto const value = static_cast<double>(actual[i]);
    if (value == expected[i] || (std::isnan(value) && std::isnan(expected[i]))) continue;
    if (std::fabs(value - expected[i]) <= tolerance * largest) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
           std::to_string(expected[i]);
  }
  return "";
}

void expect_near(KernelCase const& c, Way const& way, Arrays const& actual,
                 std::vector<Values> const& expected, char const* reference) {
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string const found = difference(actual[i], expected[i], c.tolerance);
    EXPECT_TRUE(found.empty()) << c.name << ", " << way.name << ": of array " << i << " " << found
                               << " (" << reference << ")";
  }
}

void expect_untouched(KernelCase const& c, Way const& way, Arrays const& start,
                      Arrays const& actual, std::vector<Values> const& expected) {
  std::vector<Values> const before = as_doubles(start);
  for (size_t i = 0; i < start.size(); ++i) {
    if (!same_values(before[i], expected[i])) continue;
    EXPECT_TRUE(same_bits(start[i], actual[i]))
        << c.name << ", " << way.name << ": changed array " << i << ", which it only reads";
  }
}

}  // namespace

Array random_array(size_t count, uint64_t seed, float scale) {
  Array array(count);
  workloads::Random random = workloads::Random::of(seed, count);
  for (float& value : array) value = random.uniform(-scale, scale);
  return array;
}

Array integer_array(std::vector<int32_t> const& integers) {
  Array array;
  for (int32_t const integer : integers) array.push_back(std::bit_cast<float>(integer));
  return array;
}

void check_case(KernelCase const& c) {
  Arrays const start = c.arrays();
  std::vector<Values> expected = as_doubles(start);
  c.exact(expected);
  std::vector<Values> of_host;
  if (c.host) of_host = as_doubles(run_on_host(c, start));

  Arrays first;
  for (Way const& way : kWays) {
    Arrays const actual = run_on_emulator(c, start, way);
    if (actual.empty()) return;

    expect_near(c, way, actual, expected, "double precision");
    if (c.host) expect_near(c, way, actual, of_host, "host backend");
    expect_untouched(c, way, start, actual, expected);

    if (first.empty()) first = actual;
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_TRUE(same_bits(actual[i], first[i]))
          << c.name << ": array " << i << " depends on the order of threads (" << way.name << ")";
  }
}

void run_kernels(KernelCase const& c) {
  EXPECT_FALSE(run_on_emulator(c, c.arrays(), kWays[0]).empty());
}

std::vector<KernelCase> elementwise_cases();
std::vector<KernelCase> loss_cases();
std::vector<KernelCase> transformer_row_cases();
std::vector<KernelCase> attention_head_cases();
std::vector<KernelCase> column_sum_cases();
std::vector<KernelCase> bias_cases();
std::vector<KernelCase> conversion_cases();
std::vector<KernelCase> max_pool_cases();
std::vector<KernelCase> lrn_cases();
std::vector<KernelCase> mean_cases();

std::vector<KernelGroup> const& kernel_groups() {
  static std::vector<KernelGroup> const groups = {
      {"ElementWise", elementwise_cases},         {"LossesAndBias", loss_cases},
      {"TransformerRows", transformer_row_cases}, {"AttentionHeads", attention_head_cases},
      {"ColumnSums", column_sum_cases},           {"Bias", bias_cases},
      {"Conversions", conversion_cases},          {"MaxPool", max_pool_cases},
      {"LocalResponseNormalisation", lrn_cases},  {"Means", mean_cases},
  };
  return groups;
}

}  // namespace stepscope::cuda_emulation
