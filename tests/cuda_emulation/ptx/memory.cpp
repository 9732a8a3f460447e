#include "tests/cuda_emulation/ptx/memory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "tests/cuda_emulation/emulator.h"
#include "tests/cuda_emulation/guarded_memory.h"

namespace stepscope::cuda_emulation::ptx {
namespace {

/// A thread between two barriers: what such stretches do has no order, unless they are of one
/// thread, or of one block and on two sides of a barrier.
struct Stretch {
  uint32_t block = 0;  ///< 0: of no block, as nothing was done
  uint16_t thread = 0, barriers = 0;

  [[nodiscard]] bool is_any() const { return block != 0; }
  [[nodiscard]] bool has_order_with(Stretch const& other) const {
    return block == other.block && (thread == other.thread || barriers != other.barriers);
  }
};

/// Who used a byte. The last of several readers is kept, and whether a writer has to have an order
/// with others, too.
struct Use {
  Stretch writer, reader;
  bool other_threads_read = false;  ///< of the reader's block, since its last barrier
  bool other_blocks_read = false;

  [[nodiscard]] bool may_be_read(Stretch const& by) const {
    return !writer.is_any() || writer.has_order_with(by);
  }
  [[nodiscard]] bool may_be_written(Stretch const& by) const {
    if (!may_be_read(by) || other_blocks_read) return false;
    if (!reader.is_any()) return true;
    return reader.has_order_with(by) && !(other_threads_read && reader.barriers == by.barriers);
  }

  void note_reader(Stretch const& by) {
    if (reader.is_any() && reader.block != by.block) other_blocks_read = true;
    bool const same_stretch = reader.block == by.block && reader.barriers == by.barriers;
    other_threads_read = same_stretch && (other_threads_read || reader.thread != by.thread);
    reader = by;
  }
};

struct Array {
  char* begin;
  size_t bytes;
  std::vector<Use> uses;  ///< of each byte
};

struct Memory {
  std::vector<Array> arrays;
  std::vector<char> shared;
  std::vector<Use> shared_uses;
  uint64_t shared_block = 0;  ///< whose the shared memory is
};
Memory& memory() {
  static Memory one;
  return one;
}

Stretch running_stretch() {
  Place const place = running_place();
  return {static_cast<uint32_t>(place.block), static_cast<uint16_t>(place.thread),
          static_cast<uint16_t>(place.barriers)};
}

void check_alignment(uint64_t address, size_t bytes) {
  if (address % bytes != 0)
    stop_with_fault(fmt::format("uses {0} bytes at {1:#x}, not a multiple of {0}", bytes, address));
}

void check_reader(Use* uses, size_t bytes, char const* of) {
  Stretch const by = running_stretch();
  for (size_t i = 0; i < bytes; ++i) {
    if (!uses[i].may_be_read(by))
      stop_with_fault(fmt::format("reads {} that another thread writes, without a barrier", of));
    uses[i].note_reader(by);
  }
}

void check_writer(Use* uses, size_t bytes, char const* of) {
  Stretch const by = running_stretch();
  for (size_t i = 0; i < bytes; ++i) {
    if (!uses[i].may_be_written(by))
      stop_with_fault(fmt::format("writes {} that another thread uses, without a barrier", of));
    uses[i].writer = by;
  }
}

/// The array that has these bytes; a fault where none has.
Array& array_of(uint64_t address, size_t bytes) {
  check_alignment(address, bytes);

  auto* const begin = reinterpret_cast<char*>(address);
  for (Array& array : memory().arrays)
    if (begin >= array.begin && begin + bytes <= array.begin + array.bytes) return array;
  stop_with_fault("touches " + describe_address(begin));
}

/// What threads of the block before wrote is gone.
void enter_block() {
  uint64_t const block = running_place().block;
  if (memory().shared_block == block) return;
  memory().shared_block = block;
  std::fill(memory().shared_uses.begin(), memory().shared_uses.end(), Use{});
}

Use* shared_uses_of(uint64_t address, size_t bytes) {
  enter_block();
  check_alignment(address, bytes);
  size_t const all = memory().shared.size();
  if (address > all || bytes > all - address)
    stop_with_fault(
        fmt::format("touches {} bytes at {} of {} bytes of shared memory", bytes, address, all));
  return &memory().shared_uses[address];
}

}  // namespace

void begin_checks(size_t shared_bytes) {
  Memory& m = memory();
  m.arrays.clear();
  for (GuardedMemory const* const array : living_memories())
    m.arrays.push_back(
        {static_cast<char*>(array->data()), array->bytes(), std::vector<Use>(array->bytes())});
  m.shared.assign(shared_bytes, 0);
  m.shared_block = 0;
  m.shared_uses.assign(shared_bytes, Use{});
}

void read_global(uint64_t address, void* to, size_t bytes) {
  Array& array = array_of(address, bytes);
  auto const* const from = reinterpret_cast<char const*>(address);
  check_reader(&array.uses[static_cast<size_t>(from - array.begin)], bytes, "bytes of an array");
  std::memcpy(to, from, bytes);
}

void write_global(uint64_t address, void const* from, size_t bytes) {
  Array& array = array_of(address, bytes);
  auto* const to = reinterpret_cast<char*>(address);
  check_writer(&array.uses[static_cast<size_t>(to - array.begin)], bytes, "bytes of an array");
  std::memcpy(to, from, bytes);
}

void read_shared(uint64_t address, void* to, size_t bytes) {
  Use* const uses = shared_uses_of(address, bytes);
  for (size_t i = 0; i < bytes; ++i)
    if (!uses[i].writer.is_any())
      stop_with_fault(
          fmt::format("reads {} bytes at {} of shared memory, which no thread of the "
                      "block has written",
                      bytes, address));
  check_reader(uses, bytes, "shared memory");
  std::memcpy(to, &memory().shared[address], bytes);
}

void write_shared(uint64_t address, void const* from, size_t bytes) {
  check_writer(shared_uses_of(address, bytes), bytes, "shared memory");
  std::memcpy(&memory().shared[address], from, bytes);
}

}  // namespace stepscope::cuda_emulation::ptx
