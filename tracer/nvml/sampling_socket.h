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
  /// Never waits: what the other end does not take is left out. False when it is gone.
  [[nodiscard]] bool send(SamplingMessage const& message) const;
  /// Wakes the thread that waits at it. Any thread.
  void shut_down() const;

  [[nodiscard]] int number() const { return socket_.get(); }

 private:
  [[nodiscard]] ssize_t take(std::span<std::byte> into, int flags) const;

  explicit SamplingSocket(FileDescriptor socket) : socket_(std::move(socket)) {}

  FileDescriptor socket_;
};

}  // namespace stepscope::tracer::nvml
