// Every kernel of the CUDA backend, from its own source, on the host: kernel_case.h says what is
// checked, cases/ what is run.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/cuda_emulation/emulator.h"
#include "tests/cuda_emulation/guarded_memory.h"
#include "tests/cuda_emulation/kernel_case.h"

namespace stepscope::cuda_emulation {

/// The name of a test case: GoogleTest prints the bytes of what it does not know.
static void PrintTo(KernelGroup const& group, std::ostream* out) { *out << group.name; }

namespace {

class CudaKernelGroups : public testing::TestWithParam<KernelGroup> {};

TEST_P(CudaKernelGroups, MatchHostBackendAndDoublePrecisionInEveryOrderOfThreads) {
  for (KernelCase const& kernel_case : GetParam().cases()) {
    check_case(kernel_case);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(, CudaKernelGroups, testing::ValuesIn(kernel_groups()),
                         [](auto const& group) { return std::string(group.param.name); });

/// What lies between two kernels for `work_ns` of the device's time takes how many times as long.
double slowed_by(uint64_t work_ns) {
  GuardedMemory const begin(sizeof(uint64_t), GuardedEnd::kBack, "the begin");
  auto* const begin_ns = static_cast<uint64_t*>(begin.data());
  uint64_t const before = read_device_clock();
  workloads::cuda::begin_slow(nullptr, begin_ns);
  advance_device_clock(work_ns);
  workloads::cuda::end_slow(nullptr, begin_ns);
  return static_cast<double>(read_device_clock() - before) / static_cast<double>(work_ns);
}

TEST(CudaKernels, ASlowDeviceTakesTwiceItsTime) {
  EXPECT_NEAR(slowed_by(2'000'000), 2.0, 0.001);
  EXPECT_EQ(take_fault(), "");
}

TEST(CudaKernels, EveryLaunchOfTheSourcesIsTested) {
  constexpr size_t kSmall = 5'000;  // which launch a case needs does not depend on its size
  for (KernelGroup const& group : kernel_groups())
    for (KernelCase const& kernel_case : group.cases())
      if (kernel_case.elements <= kSmall) run_kernels(kernel_case);
  slowed_by(1'000);

  for (std::string const& site : compiled_launch_sites()) {
    auto const launched = launched_sites();
    EXPECT_NE(std::find(launched.begin(), launched.end(), site), launched.end())
        << "no case in tests/cuda_emulation/cases launches this (c++filt -t): " << site;
  }
}

TEST(CudaKernels, NoCaseIsLost) {
  constexpr size_t kCases = 1'104;  // as many as the first emulation of these kernels had
  size_t cases = 1;                 // the slow device
  for (KernelGroup const& group : kernel_groups()) cases += group.cases().size();
  RecordProperty("cases", std::to_string(cases));
  EXPECT_GE(cases, kCases);
}

}  // namespace
}  // namespace stepscope::cuda_emulation
