// Memory between two pages that cannot be touched: what a kernel reads or writes beside an array
// ends in a fault instead of in the neighbour.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stepscope::cuda_emulation {

/// Which end of the array lies at a page that cannot be touched. Between the other end and the next
/// such page are bytes of 0xFF: read as floats they are not numbers.
enum class GuardedEnd { kBack, kFront };

class GuardedMemory {
 public:
  /// All bytes are 0xFF. `name` is for messages. With kBack the array begins at a multiple of 4
  /// bytes when its size is one, with kFront at a page.
  GuardedMemory(size_t bytes, GuardedEnd end, std::string name);
  GuardedMemory(GuardedMemory const&) = delete;
  GuardedMemory& operator=(GuardedMemory const&) = delete;
  ~GuardedMemory();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data()); }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] std::string const& name() const { return name_; }

  /// True while no byte of the pages outside of the array was written.
  [[nodiscard]] bool is_surrounding_intact() const;
  /// True where `address` lies in this memory's pages, those that cannot be touched too.
  [[nodiscard]] bool has_page_of(void const* address) const;

 private:
  std::string name_;
  char* pages_;
  size_t body_;  ///< bytes of the pages that can be touched
  size_t bytes_;
  char* data_;
};

/// All arrays that exist now.
std::vector<GuardedMemory const*> const& living_memories();

/// Where an address is, in words: "4 bytes behind array 2 (of 400 bytes)", or "0x10, in no array".
std::string describe_address(void const* address);

}  // namespace stepscope::cuda_emulation
