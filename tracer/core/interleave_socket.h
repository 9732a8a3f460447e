// The socket on which a program asks for its turns, in a descriptor table of a thread of its own.
// The program may close every descriptor that it did not open, and the next one that it opens would
// get the messages (private_descriptors.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "trace/base/expected.h"
#include "tracer/core/threads/own_thread.h"

namespace stepscope::tracer {

/// What process and command send each other, on a socket of packets: "all my threads are at the
/// begin of a step" and "train". Who finds the socket closed has no more turns.
struct InterleaveMessage {
  int64_t process_id = 0;  ///< that asks: all programs that it starts have the socket
};

/// A socket in the program's table of descriptors, where it may be closed and its number be another
/// one's.
struct ProgramSocket {
  int number = -1;
  uint64_t inode = 0;
};

/// One caller at a time.
class InterleaveSocket {
 public:
  /// Takes a copy of `socket`, which stays open. Errors: it is gone; no thread, or no descriptors
  /// of its own.
  static base::Expected<std::unique_ptr<InterleaveSocket>> open(ProgramSocket socket);
  ~InterleaveSocket();
  InterleaveSocket(InterleaveSocket const&) = delete;
  InterleaveSocket& operator=(InterleaveSocket const&) = delete;

  /// Sends the message and waits for the answer, for as long as it takes. False when the other end
  /// is gone.
  bool ask();
  /// The other end is gone.
  bool is_closed();

 private:
  enum class Request : uint8_t { kNone, kAsk, kLook, kEnd };

  InterleaveSocket() = default;
  void run(ProgramSocket socket);
  void answer_requests(int socket, std::unique_lock<std::mutex>& lock);
  bool request(Request what);

  std::mutex mutex_;  ///< all below but the thread
  std::condition_variable changed_;
  std::optional<base::Expected<void>> opened_;
  Request request_ = Request::kNone;
  bool answer_ = false;
  std::optional<OwnThread> thread_;
};

}  // namespace stepscope::tracer
