// What each device's memory holds, from CUPTI's records of allocations and frees: live bytes, and
// bytes held from the system (pools hold more than is live).
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "trace/model/details.h"
#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

using MemoryRecord = CUpti_ActivityMemory3;
using PoolRecord = CUpti_ActivityMemoryPool2;

/// Records must come in the order of their times. The writer thread's.
class MemoryAccount {
 public:
  /// The details of the call that made the record. Memory of the host counts on no device: its
  /// `device` is −1.
  model::MemoryDetail apply(MemoryRecord const& record);
  void apply(PoolRecord const& record);

 private:
  struct Block {
    uint64_t bytes = 0;
    int32_t device = -1;
    bool in_pool = false;
  };
  struct Device {
    uint64_t allocated = 0;
    uint64_t outside_pools = 0;
    std::map<uint64_t, uint64_t> pools;  ///< bytes each holds, by address
  };
  void allocate(uint64_t address, Block const& block);
  /// The block that was freed.
  Block free(uint64_t address, Block const& claimed);

  std::unordered_map<uint64_t, Block> live_;  ///< by address
  std::map<int32_t, Device> devices_;
};

}  // namespace stepscope::tracer
