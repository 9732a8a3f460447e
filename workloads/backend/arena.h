// The memory of one device: a caching arena with a capacity. Blocks are cut best-fit from segments
// that are reserved from the system and kept when free; neighbours that are free are joined.
// Reserved bytes never pass the capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "trace/base/expected.h"
#include "tracer/api/device_events.h"
#include "workloads/backend/backend.h"

namespace stepscope::workloads {

/// What an arena's segments come from: a backend's system allocator. The arena calls it under its
/// lock.
class SystemMemory {
 public:
  virtual ~SystemMemory() = default;
  /// Null: the system has no more. Aligned to Arena::kAlignment.
  virtual void* reserve(uint64_t bytes) = 0;
  virtual void give_back(void* data, uint64_t bytes) = 0;
};

class Arena {
 public:
  Arena(std::string device_name, uint64_t capacity_bytes, std::unique_ptr<SystemMemory> system)
      : device_name_(std::move(device_name)),
        capacity_(capacity_bytes),
        system_(std::move(system)) {}
  ~Arena();
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  struct Block {
    void* data;
    uint64_t bytes;  ///< as asked, rounded up to kAlignment
    api::MemoryPurpose purpose;
    std::string owner;
  };

  /// Error: out of memory; says what was asked, what is free, the largest block, and who holds
  /// most.
  base::Expected<Block> allocate(size_t bytes, api::MemoryPurpose purpose, std::string_view owner);
  /// `data` must have come from allocate().
  Block release(void* data);
  /// Takes all of the capacity from the system at once. Error: it has not so much.
  base::Expected<void> reserve_all();
  /// Gives segments that hold no block back to the system.
  void give_back();
  [[nodiscard]] MemoryUse use() const;

  static constexpr uint64_t kAlignment =
      256;  ///< no two blocks share a cache line or a vector load
  /// What a block of so many bytes takes.
  static constexpr uint64_t aligned(uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  static constexpr uint64_t kSegmentUnit = 2ULL << 20U;  ///< segments are whole huge pages

 private:
  using Address = uintptr_t;
  using FreeKey = std::pair<uint64_t, Address>;  // size first: best fit is lower_bound

  bool grow(uint64_t bytes);
  void drop_free_segments();
  void insert_free(Address address, uint64_t bytes);
  [[nodiscard]] std::string out_of_memory(uint64_t bytes, std::string_view owner) const;

  std::string device_name_;
  uint64_t capacity_;
  std::unique_ptr<SystemMemory> system_;
  mutable std::mutex mutex_;
  std::map<Address, uint64_t> segments_;
  std::map<Address, uint64_t> free_blocks_;
  std::set<FreeKey> free_by_size_;
  std::map<Address, Block> live_;
  bool refused_ = false;  ///< the system had less than the capacity when it was last asked
  uint64_t allocated_ = 0, reserved_ = 0, peak_allocated_ = 0, peak_reserved_ = 0;
};

}  // namespace stepscope::workloads
