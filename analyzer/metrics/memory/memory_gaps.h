// The free gaps between the live blocks of an allocator that caches (DEFINITIONS, "Memory"):
// followed call by call, from the first allocation on. No source tells which segments an allocator
// holds, but totals and addresses do. An allocation that lies in no gap got a new segment: it
// begins with the block and is as long as what is reserved grew by. One that runs over the end of a
// segment proves that the segment goes on. Where less is reserved than before, the segments without
// a block were given back, if they have just this size. Known only as long as live blocks and
// segments sum to the totals that the allocator itself reports. A recording that begins later than
// the allocator, memory of CUDA's pools (which moves pages between blocks) and sources without
// totals tell nothing. O(log n) a call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"

namespace stepscope::analyzer {

class MemoryGaps {
 public:
  struct Block {
    uint64_t address, bytes;
  };
  struct Totals {
    uint64_t allocated, reserved;  ///< as reported after the call
  };
  /// Calls must come in the order in which they took effect. What was live at the address must have
  /// been freed.
  void allocate(Block block, Totals totals);
  /// `block` must be as it was allocated.
  void free(Block block, Totals totals);
  /// Something happened that the calls do not tell: nothing is known from now on.
  void lose() { state_ = state_ == State::kRefuted ? state_ : State::kLost; }

  /// The size of the largest gap after the last call; none where it is not known.
  std::optional<uint64_t> largest();
  /// A block lies where no segment can be: what followed from calls before is wrong as well.
  [[nodiscard]] bool is_refuted() const { return state_ == State::kRefuted; }

 private:
  enum class State : uint8_t { kNothingSeen, kKnown, kLost, kRefuted };
  struct Gap {
    uint64_t begin = 0;
    bool is_segment = false;  ///< all of one
  };

  [[nodiscard]] bool begin(Block block, Totals totals);
  void finish_call(Totals totals);
  [[nodiscard]] bool fits(Block block) const;
  /// False where the block does not fit into a gap.
  bool take(Block block);
  [[nodiscard]] bool add_segment(uint64_t address, uint64_t bytes);
  /// The segment that ends inside of the block goes on for `grown` bytes.
  [[nodiscard]] bool extend_segment(Block block, uint64_t grown);
  [[nodiscard]] bool take_from_new_segment(Block block, Totals totals);
  void put(Block block);
  void add_size(uint64_t size, uint64_t end);
  void set_gap(uint64_t begin, uint64_t end);
  void drop_gap(std::map<uint64_t, Gap>::iterator gap);
  void give_back_empty();
  void place(Block block, Totals totals);

  State state_ = State::kNothingSeen;
  Totals before_{0, 0};
  uint64_t live_bytes_ = 0, segment_bytes_ = 0;
  std::map<uint64_t, uint64_t> segments_;  ///< end by begin
  std::map<uint64_t, Gap>
      gaps_;  ///< by end: what is cut from the front of a gap leaves its key alone
  std::unordered_set<uint64_t, base::HashNumber>
      empty_;  ///< begins of the segments without a block
  uint64_t empty_bytes_ = 0;
  std::priority_queue<std::pair<uint64_t, uint64_t>>
      by_size_;  ///< (size, end) of every gap, and of some that are gone
};

}  // namespace stepscope::analyzer
