// One handle for NCCL that stands for two: the one of this plugin and the one of the user's. NCCL
// does not report when it forgets an event, so a handle is a place in a ring, not memory to free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope::tracer::nccl {

struct HandlePair {
  uint64_t own = 0;       ///< 0 = not recorded by this plugin
  void* other = nullptr;  ///< null = not recorded by the other plugin
};

/// The last 2^`size_bits` pairs. Thread-safe, without locks and without allocation after the
/// constructor. Its memory is mapped and takes pages only as it fills.
class HandlePairs {
 public:
  /// `size_bits`: 1 to 32.
  explicit HandlePairs(unsigned size_bits);
  ~HandlePairs();
  HandlePairs(HandlePairs const&) = delete;
  HandlePairs& operator=(HandlePairs const&) = delete;

  /// Number of the pair, from 1; 0 for a pair of nothing, or when the system had no memory.
  uint64_t add(HandlePair pair);
  /// A pair of nothing for a number that add() did not return, or that newer pairs have displaced.
  [[nodiscard]] HandlePair find(uint64_t number) const;

 private:
  /// Only the thread that took the place writes the other two.
  struct Place {
    std::atomic<uint64_t> number;
    std::atomic<uint64_t> own;
    std::atomic<void*> other;
  };
  [[nodiscard]] Place& place(uint64_t number) const { return places_[number & (size_ - 1)]; }
  /// A new number whose place no other thread writes. A thread that lost the processor while it
  /// wrote can be overtaken by a whole round: two in one place would leave halves of two pairs.
  uint64_t take_place();

  size_t const size_;
  Place* places_ = nullptr;
  std::atomic<uint64_t> last_{0};
};

}  // namespace stepscope::tracer::nccl
