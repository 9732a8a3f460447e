// Messages from one thread to another, in order. A send never waits for its receive: the message is
// copied straight to a receiver that already waits, and kept in a buffer otherwise. So two stages
// of a pipeline may both send before they receive, which would block forever if a send were over
// only with its receive.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace stepscope::workloads::host {

/// One sender thread and one receiver thread. Holds as many messages as were sent and not received;
/// buffers are used again.
class Mailbox {
 public:
  /// `data` may change as soon as this returns.
  void send(float const* data, size_t count);
  /// Blocks until the next message is in `data`. It must have this count (checked).
  void receive(float* data, size_t count);

 private:
  using Message = std::vector<float>;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> kept_;
  std::vector<Message> spare_;
  float* waiting_ = nullptr;  ///< where a receiver wants the next message
  size_t waiting_count_ = 0;
};

}  // namespace stepscope::workloads::host
