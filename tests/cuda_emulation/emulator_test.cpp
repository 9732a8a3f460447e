// The emulator finds what it promises to find: kernels with one fault each (faulty_kernels.cu).
#include "tests/cuda_emulation/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/cuda_emulation/faulty_kernels.h"
#include "tests/cuda_emulation/guarded_memory.h"

namespace stepscope::cuda_emulation {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Order kOrders[] = {Order::kForward, Order::kWarpAhead, Order::kShuffled};

/// An array of a device with 0, 1, 2, … in it.
class Counting {
 public:
  explicit Counting(size_t count, GuardedEnd end = GuardedEnd::kBack)
      : memory_(count * sizeof(float), end, "the array"), count_(count) {
    std::iota(data(), data() + count, 0.0F);
  }

  [[nodiscard]] float* data() const { return memory_.floats(); }
  [[nodiscard]] std::vector<float> values() const { return {data(), data() + count_}; }
  [[nodiscard]] GuardedMemory const& memory() const { return memory_; }

 private:
  GuardedMemory memory_;
  size_t count_;
};

/// In how many of the three orders `is_right(order)` holds.
template <class Run>
int right_orders(Run is_right) {
  return static_cast<int>(std::count_if(std::begin(kOrders), std::end(kOrders), [&](Order order) {
    set_order(order);
    bool const right = is_right();
    EXPECT_EQ(take_fault(), "");
    return right;
  }));
}

TEST(CudaEmulator, GivesEveryThreadItsPlaceInBlockAndGrid) {
  for (Order const order : kOrders) {
    set_order(order);
    Counting const expected(2 * 3 * 4 * 5 * 7 * 2), numbers(2 * 3 * 4 * 5 * 7 * 2);
    std::fill_n(numbers.data(), numbers.values().size(), -1.0F);
    number_threads(dim3(2, 3, 4), dim3(5, 7, 2), numbers.data());
    EXPECT_EQ(take_fault(), "");
    EXPECT_EQ(numbers.values(), expected.values());
  }
}

TEST(CudaEmulator, AMissingBarrierChangesTheResult) {
  auto const is_reversed = [](bool with_barrier) {
    Counting const x(96), y(96);
    reverse(x.data(), y.data(), 96, with_barrier);
    std::vector<float> expected = x.values();
    std::reverse(expected.begin(), expected.end());
    return y.values() == expected;
  };
  EXPECT_EQ(right_orders([&] { return is_reversed(true); }), 3);
  EXPECT_EQ(right_orders([&] { return is_reversed(false); }), 0);
}

TEST(CudaEmulator, OnlyAWarpThatRunsAheadShowsABarrierMissingBetweenTwoUses) {
  auto const is_right = [](bool with_barrier) {
    Counting const x(64), differences(64);
    sum_twice(x.data(), differences.data(), with_barrier);
    auto const values = differences.values();
    return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
  };
  EXPECT_EQ(right_orders([&] { return is_right(true); }), 3);

  set_order(Order::kWarpAhead);
  EXPECT_FALSE(is_right(false));
}

TEST(CudaEmulator, ABarrierThatSomeThreadsNeverReachIsAFault) {
  leave_before_barrier(64, 64);
  EXPECT_EQ(take_fault(), "");
  leave_before_barrier(64, 40);
  EXPECT_THAT(take_fault(),
              HasSubstr("40 threads wait at a barrier, 24 of their block have ended"));
}

TEST(CudaEmulator, ShufflesExchangeTheLanesThatTheirMaskNames) {
  Counting const x(64), y(64);
  swap_neighbours(x.data(), y.data(), 64, 0xFFFF'FFFFU);
  EXPECT_EQ(take_fault(), "");
  EXPECT_EQ(y.data()[0], 1);
  EXPECT_EQ(y.data()[33], 32);
}

TEST(CudaEmulator, AShuffleWithoutAllOfItsLanesIsAFault) {
  Counting const x(64), y(64);
  swap_neighbours(x.data(), y.data(), 64, 0x0000'FFFFU);
  EXPECT_THAT(take_fault(), HasSubstr("is not in the mask 0xffff"));
  swap_neighbours(x.data(), y.data(), 40, 0xFFFF'FFFFU);  // the second warp has 8 lanes
  EXPECT_THAT(take_fault(), HasSubstr("a shuffle waits for lanes that never come"));
}

TEST(CudaEmulator, SharedMemoryIsNoNumberUntilItIsWritten) {
  for (int launch = 0; launch < 2; ++launch) {
    Counting const y(32);
    read_unwritten_shared(y.data(), 32);
    EXPECT_EQ(take_fault(), "");
    for (float const value : y.values()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(CudaEmulator, WhatTouchesMemoryBesideAnArrayIsAFaultThatNamesThreadAndArray) {
  Counting const back(100), front(100, GuardedEnd::kFront), y(1);
  write_at(back.data(), 100);
  EXPECT_EQ(take_fault(),
            "write_kernel, block (0, 0, 0), thread (0, 0, 0) touches 0 bytes behind the array (of "
            "400 bytes)");
  read_at(back.data(), 102, y.data());
  EXPECT_THAT(take_fault(), HasSubstr("8 bytes behind the array"));

  read_at(front.data(), -1, y.data());
  EXPECT_THAT(take_fault(), HasSubstr("4 bytes in front of the array"));
  read_at(nullptr, 4, y.data());
  EXPECT_THAT(take_fault(), HasSubstr("0x10, in no array"));
}

TEST(CudaEmulator, WhatIsWrittenBetweenArrayAndGuardPageShows) {
  Counting const back(100);
  EXPECT_TRUE(back.memory().is_surrounding_intact());
  write_at(back.data(), -1);
  EXPECT_EQ(take_fault(), "");
  EXPECT_FALSE(back.memory().is_surrounding_intact());
}

TEST(CudaEmulator, AMisalignedVectorIsAFault) {
  Counting const x(16, GuardedEnd::kFront), y(4, GuardedEnd::kFront);
  copy_four(x.data(), 4, y.data());
  EXPECT_EQ(take_fault(), "");
  EXPECT_EQ(y.values(), (std::vector<float>{4, 5, 6, 7}));
  copy_four(x.data(), 5, y.data());
  EXPECT_THAT(take_fault(),
              HasSubstr("copy_four_kernel, block (0, 0, 0), thread (0, 0, 0): undef"));
}

TEST(CudaEmulator, SharedArraysHaveGuardPagesToo) {
  write_shared_at(31);
  EXPECT_EQ(take_fault(), "");
  write_shared_at(32);
  EXPECT_THAT(take_fault(), HasSubstr("0 bytes behind shared array values"));
}

TEST(CudaEmulator, LaunchesBeyondTheLimitsOfEveryGpuAreFaults) {
  auto const fault_of = [](dim3 grid, dim3 block, size_t shared_bytes) {
    launch_free(grid, block, shared_bytes);
    return take_fault();
  };

  EXPECT_THAT(fault_of(1, 1024, 48 << 10), IsEmpty());
  EXPECT_THAT(fault_of(1, 1025, 0), HasSubstr("a block of 1025 x 1 x 1 threads"));
  EXPECT_THAT(fault_of(1, dim3(1, 1, 65), 0), HasSubstr("a block of 1 x 1 x 65 threads"));
  EXPECT_THAT(fault_of(1, 0, 0), HasSubstr("a block without threads"));
  EXPECT_THAT(fault_of(0, 1, 0), HasSubstr("a grid without blocks"));
  EXPECT_THAT(fault_of(dim3(1, 65'536), 1, 0), HasSubstr("a grid of 1 x 65536 x 1 blocks"));
  EXPECT_THAT(fault_of(1, 1, (48 << 10) + 1), HasSubstr("49153 bytes of shared memory"));
}

TEST(CudaEmulator, LaunchBoundsAndStaticSharedMemoryAreLimitsToo) {
  launch_bounded(1, 256);
  EXPECT_EQ(take_fault(), "");
  launch_bounded(1, 257);
  EXPECT_THAT(take_fault(), HasSubstr("257 threads, its launch bounds allow 256"));
  use_much_shared();
  EXPECT_THAT(take_fault(), HasSubstr("65536 bytes of shared memory"));
}

TEST(CudaEmulator, NothingRunsAfterAFaultUntilItIsTaken) {
  Counting const x(4);
  launch_free(0, 1, 0);
  write_at(x.data(), 3);
  EXPECT_EQ(x.data()[3], 3);
  EXPECT_THAT(take_fault(), HasSubstr("a grid without blocks"));

  write_at(x.data(), 3);
  EXPECT_EQ(x.data()[3], 1);
  EXPECT_EQ(take_fault(), "");
}

}  // namespace
}  // namespace stepscope::cuda_emulation
