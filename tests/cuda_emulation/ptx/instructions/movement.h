// Instructions that move data, and those in which threads meet: PTX ISA, "Data Movement and
// Conversion Instructions", "Parallel Synchronization and Communication Instructions".
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include "tests/cuda_emulation/ptx/instructions/registers.h"
#include "tests/cuda_emulation/ptx/memory.h"

namespace stepscope::cuda_emulation::ptx {

template <class T, class R>
T mov(R value) {
  return as<T>(value);
}
/// `mov.b32 %r, {%rs, %rs}`: the first is the lower half.
template <class T>
T mov(std::same_as<uint16_t> auto low, std::same_as<uint16_t> auto high) requires(sizeof(T) == 4) {
  return static_cast<T>(low | static_cast<uint32_t>(high) << 16U);
}
template <class T, class R>
T cvta_to_global(R address) {
  return static_cast<T>(address);
}

template <class T, class... R>
void ld_param(uint64_t address, R&... targets) {
  char const* from = reinterpret_cast<char const*>(address);
  auto const load = [&](auto& target) {
    T value;
    std::memcpy(&value, from, sizeof value);
    from += sizeof value;
    set(target, value);
  };
  (load(targets), ...);
}

/// A load of several registers is aligned to all of them ("Vectors").
template <class T, class Read, class... R>
void load_vector(uint64_t address, Read const& read, R&... targets) {
  T values[sizeof...(R)];
  read(address, values, sizeof values);
  T const* next = values;
  (set(targets, *next++), ...);
}
template <class T, class... R>
void ld_global(uint64_t address, R&... targets) {
  load_vector<T>(address, read_global, targets...);
}
template <class T, class... R>
void ld_shared(uint64_t address, R&... targets) {
  load_vector<T>(address, read_shared, targets...);
}
template <class T, class... R>
void st_global(uint64_t address, R... values) {
  T const all[] = {as<T>(values)...};
  write_global(address, all, sizeof all);
}
template <class T, class... R>
void st_shared(uint64_t address, R... values) {
  T const all[] = {as<T>(values)...};
  write_shared(address, all, sizeof all);
}

// Threads of a block.

inline void bar_sync(uint64_t /*barrier*/) { wait_at_barrier(); }
/// `clamp` tells how far a lane may look: 31 is the whole warp.
template <class T, class R>
T shfl_sync_bfly(R value, uint64_t lane_mask, uint64_t clamp, uint64_t members) {
  constexpr uint64_t kWholeWarp = 31;
  if (clamp != kWholeWarp) stop_with_fault("a shuffle within a part of the warp");
  float const other = shuffle_xor(static_cast<uint32_t>(members), as<float>(as<T>(value)),
                                  static_cast<int>(lane_mask));
  return as<T>(other);
}

}  // namespace stepscope::cuda_emulation::ptx
