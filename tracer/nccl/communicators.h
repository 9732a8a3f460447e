// The communicators that NCCL told of, by number: what every operation of one has in common. It
// outlives sessions, as NCCL goes on using a number after a fork. Thread-safe; nothing here is on a
// hot path.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace stepscope::tracer::nccl {

struct Communicator {
  uint64_t hash = 0;   ///< same value on every participant; 0 = its operations say it
  int32_t rank = -1;   ///< of this process; -1 = its operations say it
  uint32_t ranks = 0;  ///< 0 = unknown
  std::string name;    ///< as the program called it, mostly empty
  int version = 0;     ///< of the interface by which NCCL tells of it
};

class Communicators {
 public:
  uint32_t add(Communicator communicator) {
    std::lock_guard const lock(mutex_);
    all_.push_back(std::move(communicator));
    return static_cast<uint32_t>(all_.size() - 1);
  }
  [[nodiscard]] size_t size() const {
    std::lock_guard const lock(mutex_);
    return all_.size();
  }
  /// An unknown one when there is none of that number.
  [[nodiscard]] Communicator get(uint32_t number) const {
    std::lock_guard const lock(mutex_);
    return number < all_.size() ? all_[number] : Communicator{};
  }

  /// The user's plugin, which gets what NCCL reports, too. Both texts are for people; `problem`:
  /// why it gets nothing, empty = it does.
  void set_other_plugin(std::string description, std::string problem) {
    std::lock_guard const lock(mutex_);
    other_plugin_ = std::move(description);
    other_plugin_problem_ = std::move(problem);
  }
  [[nodiscard]] std::string other_plugin() const {
    std::lock_guard const lock(mutex_);
    return other_plugin_;
  }
  [[nodiscard]] std::string other_plugin_problem() const {
    std::lock_guard const lock(mutex_);
    return other_plugin_problem_;
  }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  mutable std::mutex mutex_;
  std::deque<Communicator> all_;
  std::string other_plugin_, other_plugin_problem_;
};

}  // namespace stepscope::tracer::nccl
