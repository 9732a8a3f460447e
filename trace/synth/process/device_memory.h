// The memory of a made device. In a tuned job by an allocator that caches, as frameworks have one:
// it asks the driver for segments, cuts blocks from them and gives nothing back. Else no address is
// used twice, and what is reserved is the peak, rounded up.
#pragma once

#include <cstdint>
#include <map>

namespace stepscope::synth {

class DeviceMemory {
 public:
  explicit DeviceMemory(bool caches) : caches_(caches) {}

  /// The address of a new block; bytes ≥ 1. Where there is room for it at `behind`, it is there.
  uint64_t allocate(uint64_t bytes, uint64_t behind = 0);
  /// `address` and `bytes` must be of a live block.
  void free(uint64_t address, uint64_t bytes);
  /// The same of a segment that is asked of the driver, past the cache.
  uint64_t allocate_of_driver(uint64_t bytes);
  void free_to_driver(uint64_t address, uint64_t bytes);

  [[nodiscard]] uint64_t allocated() const { return allocated_; }
  [[nodiscard]] uint64_t peak_allocated() const { return peak_; }
  [[nodiscard]] uint64_t reserved() const;

 private:
  using Gaps = std::map<uint64_t, uint64_t>;  // end by begin
  [[nodiscard]] Gaps::iterator smallest_gap_of(uint64_t bytes);
  void put_gap(uint64_t begin, uint64_t end);
  void add_allocated(uint64_t bytes);

  bool caches_;
  uint64_t next_address_ = 0x7F00'0000'0000;
  uint64_t allocated_ = 0, peak_ = 0;
  uint64_t segments_ = 0;  ///< bytes of all
  Gaps gaps_;
};

}  // namespace stepscope::synth
