#include "trace/import/formats/rocprofv3/device_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/base/hash_number.h"

namespace stepscope::import::rocm {

void account_memory(std::vector<MemoryRecord>& records) {
  std::stable_sort(records.begin(), records.end(),
                   [](MemoryRecord const& a, MemoryRecord const& b) { return a.start < b.start; });

  std::unordered_map<uint64_t, model::MemoryDetail, base::HashNumber> live;  // by address
  std::map<int32_t, uint64_t> held;                                          // by device

  for (MemoryRecord& record : records) {
    model::MemoryDetail& detail = record.detail;
    if (detail.op == model::MemoryOp::kFree) {
      auto const found = live.find(detail.address);
      if (found != live.end()) {
        detail.bytes = found->second.bytes;
        detail.device = found->second.device;
        detail.memory = found->second.memory;
        held[detail.device] -= detail.bytes;
        live.erase(found);
      }
    } else if (live.try_emplace(detail.address, detail).second) {
      held[detail.device] += detail.bytes;
    }

    detail.allocated_bytes = held[detail.device];
  }
}

}  // namespace stepscope::import::rocm
