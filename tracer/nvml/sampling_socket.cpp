#include "tracer/nvml/sampling_socket.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "tracer/core/sockets/local_socket.h"

namespace stepscope::tracer::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

}  // namespace

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

/// recv() without waiting. An end that closes without having read everything resets the connection.
/// The system reports that once, before it hands over what had arrived.
ssize_t SamplingSocket::take(std::span<std::byte> into, int flags) const {
  ssize_t const got = ::recv(number(), into.data(), into.size(), flags | MSG_DONTWAIT);
  if (got >= 0 || errno != ECONNRESET) return got;
  return ::recv(number(), into.data(), into.size(), flags | MSG_DONTWAIT);
}

SamplingSocket::Arrival SamplingSocket::wait(milliseconds timeout) const {
  pollfd look{number(), POLLIN, 0};
  int const limit = static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, 3'600'000));
  if (::poll(&look, 1, limit) <= 0) return Arrival::kNothing;

  std::byte first{};
  ssize_t const got = take(std::span(&first, 1), MSG_PEEK);
  if (got > 0) return Arrival::kPacket;
  bool const goes_on = got < 0 && (errno == EAGAIN || errno == EINTR);
  return goes_on ? Arrival::kNothing : Arrival::kClosed;
}

/// Memory of the packet's size, not of the largest: clearing that takes longer than a short period.
std::optional<SamplingMessage> SamplingSocket::receive() const {
  std::byte first{};
  ssize_t const size = take(std::span(&first, 1), MSG_PEEK | MSG_TRUNC);
  if (size <= 0) return {};

  std::vector<std::byte> packet(std::min(static_cast<size_t>(size), kMaxPacketBytes));
  ssize_t const got = take(packet, 0);
  if (got <= 0) return {};
  return decode_sampling_message(std::span(packet).first(static_cast<size_t>(got)));
}

SamplingSocket::Delivery SamplingSocket::send(SamplingMessage const& message,
                                              std::chrono::milliseconds limit) const {
  std::vector<std::byte> const packet = encode(message);
  if (packet.size() > kMaxPacketBytes) return Delivery::kFull;

  for (auto const until = SteadyClock::now() + limit;;) {
    ssize_t const sent =
        ::send(number(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return Delivery::kDone;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != ENOBUFS) return Delivery::kClosed;

    auto const left = std::chrono::ceil<milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0 || !wait_until_writable(left)) return Delivery::kFull;
  }
}

bool SamplingSocket::wait_until_writable(milliseconds limit) const {
  pollfd look{number(), POLLOUT, 0};
  return ::poll(&look, 1, static_cast<int>(limit.count())) != 0;
}

void SamplingSocket::shut_down() const { ::shutdown(number(), SHUT_RDWR); }

}  // namespace stepscope::tracer::nvml
