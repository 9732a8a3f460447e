#include "tracer/nvml/sampling_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace stepscope::tracer::nvml {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

/// Behind a null character: a name of no file.
Name name_of(std::string const& address) {
  Name name;
  name.address.sun_family = AF_UNIX;
  size_t const size = std::min(address.size(), sizeof name.address.sun_path - 1);
  std::memcpy(name.address.sun_path + 1, address.data(), size);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return name;
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0 || ::geteuid() == 0);
}

SamplingSocket make_socket() {
  return SamplingSocket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

tl::unexpected<base::Error> system_error(char const* what) {
  return base::fail("{}: {}", what, std::strerror(errno));
}

}  // namespace

SamplingSocket::SamplingSocket(SamplingSocket&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

SamplingSocket& SamplingSocket::operator=(SamplingSocket&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

SamplingSocket::~SamplingSocket() {
  if (number_ >= 0) ::close(number_);
}

base::Expected<SamplingSocket> SamplingSocket::connect(std::string const& address) {
  SamplingSocket socket = make_socket();
  if (socket.number_ < 0) return system_error("socket");

  Name const name = name_of(address);
  if (::connect(socket.number_, reinterpret_cast<sockaddr const*>(&name.address), name.bytes) != 0)
    return system_error("connect");
  if (!is_of_this_user(socket.number_)) return base::fail("another user listens there");
  return socket;
}

base::Expected<SamplingSocket> SamplingSocket::listen(std::string const& address) {
  SamplingSocket socket = make_socket();
  if (socket.number_ < 0) return system_error("socket");

  Name const name = name_of(address);
  if (::bind(socket.number_, reinterpret_cast<sockaddr const*>(&name.address), name.bytes) != 0 ||
      ::listen(socket.number_, SOMAXCONN) != 0)
    return system_error("bind");
  return socket;
}

SamplingSocket SamplingSocket::accept() const {
  for (;;) {
    SamplingSocket peer(::accept4(number_, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.number_ < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return {};
    }
    if (is_of_this_user(peer.number_)) return peer;
  }
}

SamplingSocket::Arrival SamplingSocket::wait(std::chrono::milliseconds timeout) const {
  pollfd look{number_, POLLIN, 0};
  int const limit = static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, 3'600'000));
  if (::poll(&look, 1, limit) <= 0) return Arrival::kNothing;

  // An end that closes without having read everything resets the connection. The system reports
  // that once, before it hands over what had arrived.
  std::byte first{};
  ssize_t got = ::recv(number_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && errno == ECONNRESET) got = ::recv(number_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Arrival::kPacket;
  bool const goes_on = got < 0 && (errno == EAGAIN || errno == EINTR);
  return goes_on ? Arrival::kNothing : Arrival::kClosed;
}

std::optional<SamplingMessage> SamplingSocket::receive() const {
  std::vector<std::byte> packet(kMaxPacketBytes);
  ssize_t const got = ::recv(number_, packet.data(), packet.size(), MSG_DONTWAIT);
  if (got <= 0) return {};
  return decode_sampling_message(std::span(packet).first(static_cast<size_t>(got)));
}

bool SamplingSocket::send(SamplingMessage const& message) const {
  std::vector<std::byte> const packet = encode(message);
  if (packet.size() > kMaxPacketBytes) return true;
  ssize_t sent = 0;
  do sent = ::send(number_, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent >= 0 || errno == EAGAIN || errno == ENOBUFS;
}

void SamplingSocket::shut_down() const { ::shutdown(number_, SHUT_RDWR); }

}  // namespace stepscope::tracer::nvml
