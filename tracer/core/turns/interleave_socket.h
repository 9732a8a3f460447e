// The socket on which a process asks for its turns, in a descriptor table of a thread of its own.
// The program may close every descriptor that it did not open, and the next one that it opens would
// get the messages (private_descriptors.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "trace/base/expected.h"
#include "tracer/core/threads/own_thread.h"

namespace stepscope::tracer {

/// What process and command send each other, on a socket of packets: "all my threads are at the
/// begin of a step" and "train". A process that finds the socket closed has no more turns.
struct InterleaveMessage {
  /// The process: turns that it has had. The command: turns that it has had when this one is over.
  /// The difference is more than 1 where it comes late and catches up with the others.
  int64_t turn = 0;
};

/// One caller at a time.
class InterleaveSocket {
 public:
  /// `address` is the command's (local_socket.h). The first call below connects to it, on the
  /// thread. So workers that mark no steps are no load to the command, and a step that a signal
  /// handler marks allocates nothing. Errors: no thread, or no descriptors of its own.
  static base::Expected<std::unique_ptr<InterleaveSocket>> open(std::string address);
  ~InterleaveSocket();
  InterleaveSocket(InterleaveSocket const&) = delete;
  InterleaveSocket& operator=(InterleaveSocket const&) = delete;

  /// Sends that the process has had `turn` turns and waits for the answer, for as long as it takes.
  /// Returns a larger number: turns up to that one may begin. Nothing when the other end is gone.
  std::optional<int64_t> ask(int64_t turn);
  /// The other end is gone.
  bool is_closed();

 private:
  enum class Request : uint8_t { kNone, kAsk, kLook, kEnd };

  InterleaveSocket() = default;
  void run(std::string const& address);
  void answer_requests(std::string const& address, std::unique_lock<std::mutex>& lock);
  std::optional<int64_t> request(Request what, int64_t turn);

  std::mutex mutex_;  ///< all below but the thread
  std::condition_variable changed_;
  std::optional<base::Expected<void>> opened_;
  Request request_ = Request::kNone;
  int64_t turn_ = 0;               ///< of the request
  std::optional<int64_t> answer_;  ///< nothing: the other end is gone
  std::optional<OwnThread> thread_;
};

}  // namespace stepscope::tracer
