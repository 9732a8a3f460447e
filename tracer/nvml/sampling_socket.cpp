#include "tracer/nvml/sampling_socket.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "tracer/core/sockets/local_socket.h"

namespace stepscope::tracer::nvml {

base::Expected<SamplingSocket> SamplingSocket::connect(std::string const& address) {
  auto socket = connect_local(address);
  if (!socket) return base::fail_with(socket);
  return SamplingSocket(std::move(*socket));
}

base::Expected<SamplingSocket> SamplingSocket::listen(std::string const& address) {
  auto socket = listen_local(address);
  if (!socket) return base::fail_with(socket);
  return SamplingSocket(std::move(*socket));
}

SamplingSocket SamplingSocket::accept() const { return SamplingSocket(accept_local(number())); }

SamplingSocket::Arrival SamplingSocket::wait(std::chrono::milliseconds timeout) const {
  pollfd look{number(), POLLIN, 0};
  int const limit = static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, 3'600'000));
  if (::poll(&look, 1, limit) <= 0) return Arrival::kNothing;

  // An end that closes without having read everything resets the connection. The system reports
  // that once, before it hands over what had arrived.
  std::byte first{};
  ssize_t got = ::recv(number(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && errno == ECONNRESET) got = ::recv(number(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Arrival::kPacket;
  bool const goes_on = got < 0 && (errno == EAGAIN || errno == EINTR);
  return goes_on ? Arrival::kNothing : Arrival::kClosed;
}

std::optional<SamplingMessage> SamplingSocket::receive() const {
  std::vector<std::byte> packet(kMaxPacketBytes);
  ssize_t const got = ::recv(number(), packet.data(), packet.size(), MSG_DONTWAIT);
  if (got <= 0) return {};
  return decode_sampling_message(std::span(packet).first(static_cast<size_t>(got)));
}

bool SamplingSocket::send(SamplingMessage const& message) const {
  std::vector<std::byte> const packet = encode(message);
  if (packet.size() > kMaxPacketBytes) return true;
  ssize_t sent = 0;
  do sent = ::send(number(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent >= 0 || errno == EAGAIN || errno == ENOBUFS;
}

void SamplingSocket::shut_down() const { ::shutdown(number(), SHUT_RDWR); }

}  // namespace stepscope::tracer::nvml
