// The memory that the rings of a session may have together. No lock: a thread takes from it while
// it records.
#pragma once

#include <atomic>
#include <cstddef>

namespace stepscope::tracer {

class RingBudget {
 public:
  explicit RingBudget(size_t bytes) : left_(bytes) {}

  [[nodiscard]] size_t left() const { return left_.load(std::memory_order_relaxed); }
  /// False, and nothing is taken, when `bytes` are more than one part in `parts` of what is left.
  bool take(size_t bytes, size_t parts) {
    size_t left = this->left();
    do {
      if (bytes > left / parts) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(size_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<size_t> left_;
};

}  // namespace stepscope::tracer
