#include "tracer/cupti/decode/memory_account.h"

#include <algorithm>
#include <numeric>

namespace stepscope::tracer {
namespace {

using model::MemoryKind;
using model::MemoryOp;

MemoryKind memory_kind(CUpti_ActivityMemoryKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryKind::kPageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryKind::kPinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return MemoryKind::kDevice;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryKind::kManaged;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryKind::kDeviceStatic;
    default:
      return MemoryKind::kUnknown;
  }
}

MemoryOp memory_op(CUpti_ActivityMemoryOperationType type) {
  if (type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) return MemoryOp::kAllocate;
  if (type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) return MemoryOp::kFree;
  return MemoryOp::kUnknown;
}

bool is_on_device(MemoryKind kind) {
  return kind != MemoryKind::kPinned && kind != MemoryKind::kPageable;
}

}  // namespace

void MemoryAccount::allocate(uint64_t address, Block const& block) {
  auto const [place, is_new] = live_.try_emplace(address, block);
  if (!is_new) {  // its free was not recorded
    free(address, place->second);
    live_.emplace(address, block);
  }
  Device& device = devices_[block.device];
  device.allocated += block.bytes;
  if (!block.in_pool) device.outside_pools += block.bytes;
}

MemoryAccount::Block MemoryAccount::free(uint64_t address, Block const& claimed) {
  auto const found = live_.find(address);
  if (found == live_.end())
    return claimed;  // allocated before the capture began: was never counted
  Block const block = found->second;
  live_.erase(found);
  Device& device = devices_[block.device];
  device.allocated -= block.bytes;
  if (!block.in_pool) device.outside_pools -= block.bytes;
  return block;
}

model::MemoryDetail MemoryAccount::apply(MemoryRecord const& record) {
  model::MemoryDetail detail;
  detail.address = record.address;
  detail.op = memory_op(record.memoryOperationType);
  detail.memory = memory_kind(record.memoryKind);
  bool const in_pool =
      record.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID;
  if (in_pool) detail.pool = record.memoryPoolConfig.address;
  Block block{record.bytes,
              is_on_device(detail.memory) ? static_cast<int32_t>(record.deviceId) : -1, in_pool};
  if (detail.op == MemoryOp::kAllocate) allocate(record.address, block);
  if (detail.op == MemoryOp::kFree) block = free(record.address, block);
  detail.bytes = block.bytes;
  detail.device = block.device;
  if (block.device < 0) return detail;
  Device& device = devices_[block.device];
  if (record.memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
    device.pools[record.memoryPoolConfig.address] = record.memoryPoolConfig.pool.size;
  auto const add = [](uint64_t sum, auto const& pool) { return sum + pool.second; };
  detail.allocated_bytes = device.allocated;
  // A pool's size may lag behind what was just taken from it.
  detail.reserved_bytes = std::max(
      device.allocated,
      std::accumulate(device.pools.begin(), device.pools.end(), device.outside_pools, add));
  return detail;
}

void MemoryAccount::apply(PoolRecord const& record) {
  if (record.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
    return;  // another process holds it
  auto& pools = devices_[static_cast<int32_t>(record.deviceId)].pools;
  if (record.memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED)
    pools.erase(record.address);
  else
    pools[record.address] = record.size;
}

}  // namespace stepscope::tracer
