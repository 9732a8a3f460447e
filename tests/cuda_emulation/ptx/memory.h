// What translated PTX reads and writes. Every access is checked as compute-sanitizer would:
// memcheck   it lies in one array of the device, or in the block's shared memory, and is aligned
// initcheck  the block has written what it reads of shared memory
// racecheck  no two threads touch a byte, one of them writing, without a barrier between; blocks
//            have no order at all
// A broken rule is a fault of the emulator, with kernel, block and thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::cuda_emulation::ptx {

/// Before each launch; shared memory has so many bytes for each block.
void begin_checks(size_t shared_bytes);

/// Addresses of global memory are those of the host, of shared memory offsets. `bytes` is what one
/// instruction moves, a power of two.
void read_global(uint64_t address, void* to, size_t bytes);
void write_global(uint64_t address, void const* from, size_t bytes);
void read_shared(uint64_t address, void* to, size_t bytes);
void write_shared(uint64_t address, void const* from, size_t bytes);

}  // namespace stepscope::cuda_emulation::ptx
