// The socket on which a traced program and the command that records it talk about counters of GPUs.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/types.h>

#include "trace/base/expected.h"
#include "tracer/core/sockets/file_descriptor.h"
#include "tracer/nvml/sampling_messages.h"

namespace stepscope::tracer::nvml {

/// Closes itself; it may be none.
class SamplingSocket {
 public:
  SamplingSocket() = default;

  /// Errors: the system gives no socket, no service listens there, or one of another user does.
  static base::Expected<SamplingSocket> connect(std::string const& address);
  /// Listens; `address` is the name that connect() takes. Errors: the system refuses.
  static base::Expected<SamplingSocket> listen(std::string const& address);
  /// Waits for the next program of this user; an empty socket once the listener was shut down.
  [[nodiscard]] SamplingSocket accept() const;

  enum class Arrival : uint8_t { kPacket, kNothing, kClosed };
  /// Whether there is something to read, `timeout` later at most.
  [[nodiscard]] Arrival wait(std::chrono::milliseconds timeout) const;
  /// The next packet; nothing for one that cannot be read. Only when there is one.
  [[nodiscard]] std::optional<SamplingMessage> receive() const;
  enum class Delivery : uint8_t { kDone, kFull, kClosed };
  /// Waits for the other end to take earlier packets, `limit` at most. kFull = it took too few, and
  /// does not get this one.
  [[nodiscard]] Delivery send(SamplingMessage const& message,
                              std::chrono::milliseconds limit = {}) const;
  /// Wakes the thread that waits at it. Any thread.
  void shut_down() const;

  [[nodiscard]] int number() const { return socket_.get(); }

 private:
  [[nodiscard]] ssize_t take(std::span<std::byte> into, int flags) const;
  [[nodiscard]] bool wait_until_writable(std::chrono::milliseconds limit) const;

  explicit SamplingSocket(FileDescriptor socket) : socket_(std::move(socket)) {}

  FileDescriptor socket_;
};

}  // namespace stepscope::tracer::nvml
