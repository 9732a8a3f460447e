#include "tracer/cupti/decode/occupancy.h"

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

constexpr MultiprocessorLimits kH100 = {.warps = 64,
                                        .blocks = 32,
                                        .registers = 65'536,
                                        .shared_memory_bytes = 233'472,
                                        .threads_per_warp = 32,
                                        .compute_capability_major = 9};
constexpr MultiprocessorLimits kV100 = {.warps = 64,
                                        .blocks = 32,
                                        .registers = 65'536,
                                        .shared_memory_bytes = 98'304,
                                        .threads_per_warp = 32,
                                        .compute_capability_major = 7};

TEST(Occupancy, is_full_when_nothing_binds) {
  EXPECT_EQ(occupancy_percent(kH100, {256, 32, 0, 0}), 100);
}

TEST(Occupancy, is_bound_by_registers) {
  EXPECT_EQ(occupancy_percent(kH100, {256, 64, 0, 0}), 50);  // 2,048 registers a warp: 32 warps
  EXPECT_EQ(occupancy_percent(kH100, {256, 65, 0, 0}),
            38);  // 2,304 a warp: 28 warps, 3 blocks of 8
  EXPECT_EQ(occupancy_percent(kH100, {1024, 255, 0, 0}), 0);  // does not fit
}

TEST(Occupancy, is_bound_by_the_number_of_blocks) {
  EXPECT_EQ(occupancy_percent(kH100, {32, 16, 0, 0}), 50);
}

TEST(Occupancy, is_bound_by_warps_of_a_block_that_do_not_divide_the_multiprocessor) {
  EXPECT_EQ(occupancy_percent(kH100, {768, 16, 0, 0}), 75);  // 2 blocks of 24 warps
}

TEST(Occupancy, is_bound_by_shared_memory_of_which_newer_devices_keep_a_kilobyte_a_block) {
  EXPECT_EQ(occupancy_percent(kV100, {256, 16, 24'576, 0}), 50);  // 4 blocks
  EXPECT_EQ(occupancy_percent(kH100, {256, 16, 58'368, 0}), 38);  // 3 and not 4: 59,392 bytes each
  EXPECT_EQ(occupancy_percent(kH100, {256, 16, 57'344, 0}), 50);  // 58,368 each: 4 fit exactly
}

TEST(Occupancy, is_bound_by_what_the_driver_gave_for_shared_memory) {
  EXPECT_EQ(occupancy_percent(kV100, {256, 16, 8'192, 16'384}), 25);
}

TEST(Occupancy, is_unknown_without_limits_or_threads) {
  EXPECT_EQ(occupancy_percent({}, {256, 32, 0, 0}), 0);
  EXPECT_EQ(occupancy_percent(kH100, {0, 32, 0, 0}), 0);
}

}  // namespace
}  // namespace stepscope::tracer
