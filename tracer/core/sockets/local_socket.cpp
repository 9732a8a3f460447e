#include "tracer/core/sockets/local_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

struct AbstractName {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

/// Behind a null character: a name of no file.
AbstractName abstract_name(std::string const& address) {
  AbstractName name;
  name.address.sun_family = AF_UNIX;
  size_t const size = std::min(address.size(), sizeof name.address.sun_path - 1);
  std::memcpy(name.address.sun_path + 1, address.data(), size);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return name;
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return {};
  return peer;
}

bool is_of_this_user(int socket) {
  auto const peer = peer_of(socket);
  return peer && (peer->uid == ::geteuid() || peer->uid == 0 || ::geteuid() == 0);
}

FileDescriptor make_packet_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

tl::unexpected<base::Error> socket_error(char const* what) {
  return base::fail("{}: {}", what, std::strerror(errno));
}

}  // namespace

std::string new_local_address(std::string_view purpose) {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return fmt::format("stepscope-{}-{}-{:016x}", purpose, ::getpid(), number);
}

base::Expected<FileDescriptor> listen_local(std::string const& address) {
  FileDescriptor socket = make_packet_socket();
  if (socket.get() < 0) return socket_error("socket");

  AbstractName const name = abstract_name(address);
  if (::bind(socket.get(), reinterpret_cast<sockaddr const*>(&name.address), name.bytes) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return socket_error("bind");
  return socket;
}

base::Expected<FileDescriptor> connect_local(std::string const& address) {
  FileDescriptor socket = make_packet_socket();
  if (socket.get() < 0) return socket_error("socket");

  AbstractName const name = abstract_name(address);
  if (::connect(socket.get(), reinterpret_cast<sockaddr const*>(&name.address), name.bytes) != 0)
    return socket_error("connect");
  if (!is_of_this_user(socket.get())) return base::fail("another user listens there");
  return socket;
}

FileDescriptor accept_local(int listener) {
  for (;;) {
    FileDescriptor peer(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return peer;
    }
    if (is_of_this_user(peer.get())) return peer;
  }
}

pid_t peer_process(int socket) {
  auto const peer = peer_of(socket);
  return peer ? peer->pid : 0;
}

}  // namespace stepscope::tracer
