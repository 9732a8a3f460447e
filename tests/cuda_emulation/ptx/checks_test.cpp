// The checks of ptx/memory.h: accesses as translated PTX makes them, a fault each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/cuda_emulation/emulator.h"
#include "tests/cuda_emulation/guarded_memory.h"
#include "tests/cuda_emulation/ptx/instructions.h"

namespace stepscope::cuda_emulation::ptx {
namespace {

using testing::HasSubstr;

constexpr size_t kSharedBytes = 64;

/// What the emulator says of a launch of two blocks with two threads each.
std::string fault_of(std::function<void()> const& thread) {
  set_order(Order::kForward);
  begin_checks(kSharedBytes);
  run_grid({{"kernel", 1024}, dim3(2), dim3(2), kSharedBytes}, thread);
  return take_fault();
}

struct Floats {
  GuardedMemory memory{4 * sizeof(float), GuardedEnd::kBack, "array 0"};
  uint64_t begin = reinterpret_cast<uint64_t>(memory.data());

  [[nodiscard]] uint64_t of_thread() const { return begin + own() * sizeof(float); }
  static uint64_t own() { return uint64_t{ctaid().x} * 2 + tid().x; }
};

TEST(CudaPtxChecks, AThreadMayUseItsOwnElement) {
  Floats const floats;

  EXPECT_EQ(fault_of([&] {
              st_global<f32>(floats.of_thread(), 1.0F);
              float value = 0;
              ld_global<f32>(floats.of_thread(), value);
              st_shared<f32>(tid().x * 4U, value);
              bar_sync(0);
              ld_shared<f32>(4U - tid().x * 4U, value);
              st_global<f32>(floats.of_thread(), value + 1);
            }),
            "");
  EXPECT_EQ(floats.memory.floats()[3], 2.0F);
}

TEST(CudaPtxChecks, AnAccessBehindAnArrayIsAFault) {
  Floats const floats;
  EXPECT_THAT(fault_of([&] { st_global<f32>(floats.begin + 16, 1.0F); }),
              HasSubstr("thread (0, 0, 0) touches 0 bytes behind array 0 (of 16 bytes)"));
}

/// The bytes before an array are in its first page: only its bounds tell.
TEST(CudaPtxChecks, AReadInFrontOfAnArrayIsAFault) {
  Floats const floats;
  EXPECT_THAT(fault_of([&] {
                float value = 0;
                ld_global<f32>(floats.begin - 4, value);
              }),
              HasSubstr("touches 4 bytes in front of array 0"));
}

TEST(CudaPtxChecks, AVectorHasToBeAligned) {
  Floats const floats;
  EXPECT_THAT(fault_of([&] {
                float a = 0, b = 0;
                ld_global<f32>(floats.begin + 4, a, b);
              }),
              HasSubstr("thread (0, 0, 0) uses 8 bytes at"));
}

TEST(CudaPtxChecks, SharedMemoryEnds) {
  EXPECT_THAT(fault_of([] { st_shared<f32>(kSharedBytes, 1.0F); }),
              HasSubstr("touches 4 bytes at 64 of 64 bytes of shared memory"));
}

TEST(CudaPtxChecks, ABlockReadsNothingThatTheOneBeforeWrote) {
  EXPECT_THAT(fault_of([] {
                float value = 0;
                if (ctaid().x == 0) st_shared<f32>(tid().x * 4U, 1.0F);
                if (ctaid().x == 1) ld_shared<f32>(tid().x * 4U, value);
              }),
              HasSubstr("block (1, 0, 0), thread (0, 0, 0) reads 4 bytes at 0 of shared memory, "
                        "which no thread of the block has written"));
}

TEST(CudaPtxChecks, AReadNeedsABarrierBehindAnotherThreadsWrite) {
  EXPECT_THAT(fault_of([] {
                float value = 0;
                if (tid().x == 0) st_shared<f32>(0, 1.0F);
                ld_shared<f32>(0, value);
              }),
              HasSubstr("thread (1, 0, 0) reads shared memory that another thread writes"));
}

TEST(CudaPtxChecks, AWriteNeedsABarrierBehindAnotherThreadsRead) {
  EXPECT_THAT(fault_of([] {
                float value = 0;
                if (tid().x == 0) st_shared<f32>(0, 1.0F);
                bar_sync(0);
                ld_shared<f32>(0, value);
                if (tid().x == 1) st_shared<f32>(0, value);
              }),
              HasSubstr("thread (1, 0, 0) writes shared memory that another thread uses"));
}

TEST(CudaPtxChecks, BlocksHaveNoOrder) {
  Floats const floats;
  EXPECT_THAT(fault_of([&] { st_global<f32>(floats.begin + tid().x * 4U, 1.0F); }),
              HasSubstr("block (1, 0, 0), thread (0, 0, 0) writes bytes of an array that another"));
  EXPECT_THAT(fault_of([&] {
                float value = 0;
                ld_global<f32>(floats.begin + tid().x * 4U, value);
                if (ctaid().x == 1) st_global<f32>(floats.begin + tid().x * 4U, value);
              }),
              HasSubstr("block (1, 0, 0), thread (0, 0, 0) writes bytes of an array that another"));
}

}  // namespace
}  // namespace stepscope::cuda_emulation::ptx
