#include "tracer/cupti/decode/memory_account.h"

#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/records.h"

namespace stepscope::tracer {
namespace {

CUpti_ActivityMemory3 pool_allocation(uint64_t address, uint64_t bytes, uint64_t pool_bytes) {
  auto record = memory_record(kAllocation, address, bytes, 0, 1);
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.memoryPoolConfig.address = 0x10;
  record.memoryPoolConfig.pool.size = pool_bytes;
  return record;
}

TEST(MemoryAccount, counts_each_device_apart) {
  MemoryAccount account;
  auto other = memory_record(kAllocation, 0xB000, 7, 0, 1);
  other.deviceId = 1;
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xA000, 100, 0, 1)).allocated_bytes, 100U);
  EXPECT_EQ(account.apply(other).allocated_bytes, 7U);
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xC000, 1, 0, 1)).reserved_bytes, 101U);
}

TEST(MemoryAccount, holds_what_pools_hold_and_what_lives_beside_them) {
  MemoryAccount account;
  account.apply(memory_record(kAllocation, 0xA000, 100, 0, 1));
  model::MemoryDetail const detail = account.apply(pool_allocation(0xB000, 50, 2000));
  EXPECT_EQ(detail.allocated_bytes, 150U);
  EXPECT_EQ(detail.reserved_bytes, 2100U);
  EXPECT_EQ(detail.pool, 0x10U);

  auto release = pool_allocation(0xB000, 50, 2000);
  release.memoryOperationType = kRelease;
  EXPECT_EQ(account.apply(release).reserved_bytes, 2100U);

  CUpti_ActivityMemoryPool2 trimmed{};
  trimmed.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  trimmed.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
  trimmed.address = 0x10;
  trimmed.size = 500;
  account.apply(trimmed);
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xC000, 1, 0, 1)).reserved_bytes, 601U);

  trimmed.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED;
  account.apply(trimmed);
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xD000, 1, 0, 1)).reserved_bytes, 102U);
}

TEST(MemoryAccount, never_reports_less_held_than_lives) {
  MemoryAccount account;
  EXPECT_EQ(account.apply(pool_allocation(0xB000, 50, 0)).reserved_bytes, 50U);
}

TEST(MemoryAccount, counts_memory_of_the_host_on_no_device) {
  MemoryAccount account;
  auto const detail = account.apply(
      memory_record(kAllocation, 0xA000, 100, 0, 1, CUPTI_ACTIVITY_MEMORY_KIND_PINNED));
  EXPECT_EQ(detail.device, -1);
  EXPECT_EQ(detail.memory, model::MemoryKind::kPinned);
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xB000, 1, 0, 1)).allocated_bytes, 1U);
}

TEST(MemoryAccount, does_not_run_below_zero_for_frees_of_what_it_never_saw) {
  MemoryAccount account;
  EXPECT_EQ(account.apply(memory_record(kRelease, 0xA000, 100, 0, 1)).allocated_bytes, 0U);
}

TEST(MemoryAccount, takes_an_address_that_is_given_twice_as_freed_in_between) {
  MemoryAccount account;
  account.apply(memory_record(kAllocation, 0xA000, 100, 0, 1));
  EXPECT_EQ(account.apply(memory_record(kAllocation, 0xA000, 30, 0, 1)).allocated_bytes, 30U);
}

}  // namespace
}  // namespace stepscope::tracer
