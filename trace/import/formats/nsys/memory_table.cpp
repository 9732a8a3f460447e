#include "trace/import/formats/nsys/memory_table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "trace/model/build/memory_names.h"

namespace stepscope::import::nsys {
namespace {

using model::MemoryKind;
using model::MemoryOp;

/// Kinds by ENUM_CUDA_MEM_KIND.
constexpr std::array<MemoryKind, 7> kMemoryKinds = {
    MemoryKind::kPageable, MemoryKind::kPinned,       MemoryKind::kDevice, MemoryKind::kDevice,
    MemoryKind::kManaged,  MemoryKind::kDeviceStatic, MemoryKind::kManaged};

struct PoolState {
  uint64_t size = 0;  ///< that the pool holds
  bool is_local = false;
};

/// The blocks that are live on the devices of a process.
class DeviceAccount {
 public:
  /// In order of time.
  void apply(model::MemoryDetail& detail, PoolState const& pool) {
    bool const on_device =
        detail.memory != MemoryKind::kPinned && detail.memory != MemoryKind::kPageable;
    Block block{detail.bytes, on_device ? detail.device : -1, detail.pool != 0};

    if (detail.op == MemoryOp::kAllocate) {
      free(detail.address, block);  // where one is live its free was not recorded
      live_.emplace(detail.address, block);
      held_[block.device].allocated += block.bytes;
      held_[block.device].outside_pools += block.in_pool ? 0 : block.bytes;
    } else if (detail.op == MemoryOp::kFree) {
      block = free(detail.address, block);
    }

    detail.bytes = block.bytes;
    detail.device = block.device;
    if (block.device < 0) return;

    Held& held = held_[block.device];
    if (pool.is_local) {
      uint64_t& size = held.pools[detail.pool];
      held.in_pools += pool.size - size;
      size = pool.size;
    }

    detail.allocated_bytes = held.allocated;
    // A pool's size may lag behind what was just taken from it.
    detail.reserved_bytes = std::max(held.allocated, held.outside_pools + held.in_pools);
  }

 private:
  struct Block {
    uint64_t bytes = 0;
    int32_t device = -1;
    bool in_pool = false;
  };
  struct Held {
    uint64_t allocated = 0, outside_pools = 0, in_pools = 0;
    std::unordered_map<uint64_t, uint64_t, base::HashNumber> pools;  ///< size by address
  };
  /// The block that was live there, else what the free claims: that was allocated before the
  /// capture began, and never counted.
  Block free(uint64_t address, Block const& claimed) {
    auto const found = live_.find(address);
    if (found == live_.end()) return claimed;
    Block const block = found->second;
    live_.erase(found);
    held_[block.device].allocated -= block.bytes;
    held_[block.device].outside_pools -= block.in_pool ? 0 : block.bytes;
    return block;
  }

  std::unordered_map<uint64_t, Block, base::HashNumber> live_;  ///< by address
  std::map<int32_t, Held> held_;                                ///< by device
};

struct Record {
  MemoryChange change;
  PoolState pool;
};

Record record_of(TableScan const& scan, int64_t start) {
  enum Column : int {
    kStart,
    kProcess,
    kDevice,
    kCorrelation,
    kAddress,
    kBytes,
    kKind,
    kOp,
    kPool,
    kPoolSize
  };

  Record record;
  record.change.start = start;
  record.change.correlation = static_cast<uint64_t>(scan.integer(kCorrelation));

  model::MemoryDetail& detail = record.change.detail;
  detail.device = static_cast<int32_t>(std::clamp<int64_t>(scan.integer(kDevice), -1, kLastDevice));
  detail.address = static_cast<uint64_t>(scan.integer(kAddress));
  detail.bytes = static_cast<uint64_t>(std::max<int64_t>(0, scan.integer(kBytes)));

  // Old exports do not tell the kind: they have device memory alone.
  auto const kind = scan.is_null(kKind) ? uint64_t{2} : static_cast<uint64_t>(scan.integer(kKind));
  detail.memory = kind < kMemoryKinds.size() ? kMemoryKinds[kind] : MemoryKind::kUnknown;

  int64_t const op = scan.is_null(kOp) ? -1 : scan.integer(kOp);
  if (op == 0) detail.op = MemoryOp::kAllocate;
  if (op == 1) detail.op = MemoryOp::kFree;

  detail.pool = static_cast<uint64_t>(scan.integer(kPool));
  record.pool = {static_cast<uint64_t>(std::max<int64_t>(0, scan.integer(kPoolSize))),
                 detail.pool != 0 && !scan.is_null(kPoolSize)};

  return record;
}

}  // namespace

std::map<Process*, MemoryChanges> read_memory_table(Processes& processes) {
  TableScan scan(processes.database, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                 {"start", "globalPid", "deviceId", "correlationId", "address", "bytes", "memKind",
                  "memoryOperationType", "localMemoryPoolAddress", "localMemoryPoolSize"});
  std::map<Process*, std::vector<Record>> records;

  while (scan.next()) {
    if (scan.is_null(0)) {
      ++processes.untimed;
      continue;
    }
    records[&processes.process(processes.process_key(scan, 1))].push_back(
        record_of(scan, processes.trace_time(scan.integer(0))));
  }

  std::map<Process*, MemoryChanges> memory;
  for (auto& [process, of_process] : records) {
    process->is_traced = true;

    // Some versions tell no times: then calls are numbered in their order.
    std::sort(of_process.begin(), of_process.end(), [](Record const& a, Record const& b) {
      auto const key = [](MemoryChange const& change) {
        return std::tuple(change.start, change.correlation, change.detail.op == MemoryOp::kAllocate,
                          change.detail.address, change.detail.bytes);
      };
      return key(a.change) < key(b.change);
    });

    DeviceAccount account;
    MemoryChanges& to = memory[process];
    for (Record& record : of_process) {
      account.apply(record.change.detail, record.pool);
      if (record.change.correlation != 0)
        to.by_correlation.emplace(record.change.correlation, to.changes.size());
      to.changes.push_back(record.change);
    }
  }

  return memory;
}

void add_changes_without_call(std::map<Process*, MemoryChanges> const& memory,
                              Processes& processes) {
  for (auto const& [process, changes] : memory) {
    for (MemoryChange const& change : changes.changes) {
      if (change.is_taken) continue;

      if (change.start + processes.time_base == 0) {
        ++processes.untimed;
        continue;
      }

      model::StringId const name = process->builder.intern(model::name_without_call(change.detail));
      process->track({TrackKey::Kind::kThread, kUnknownThread, -1, 0, {}})
          .rows.add(model::EventKind::kMemory, change.start, 0, name, change.correlation,
                    change.detail);
    }
  }
}

}  // namespace stepscope::import::nsys
