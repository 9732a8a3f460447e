// Descriptors whose last close is seen from outside: the end of a pipe, a lock, a port. No copy of
// them may stay open in the tracer. Each case opens before its first event, so that everything that
// the tracer inherits has it.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

void start_tracer() {
  work(10);
  sleep_ms(30);
}

/// The end is seen within a second, or "time" is printed.
char const* wait_for_end(int fd) {
  pollfd request = {fd, POLLIN, 0};
  return ::poll(&request, 1, 1000) == 1 ? "end" : "time";
}

int read_to_end_of_pipe(Arguments const& /*unused*/) {
  std::array<int, 2> before{}, after{};
  if (::pipe(before.data()) != 0) return 1;
  start_tracer();
  if (::pipe(after.data()) != 0) return 1;

  work(10);
  sleep_ms(30);
  ::close(before[1]);
  ::close(after[1]);

  std::printf("%s %s\n", wait_for_end(before[0]), wait_for_end(after[0]));
  return 0;
}

int write_to_broken_pipe(Arguments const& /*unused*/) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  start_tracer();
  ::close(ends[0]);
  ssize_t const written = ::write(ends[1], "x", 1);
  std::printf("written %zd %s\n", written, written < 0 ? std::strerror(errno) : "");
  return 0;
}

/// The lock belongs to the open file: it ends with the last descriptor of that.
int release_lock_by_close(Arguments const& /*unused*/) {
  int const first = ::open("locked", O_RDWR | O_CREAT, 0644);
  if (::flock(first, LOCK_EX) != 0) return 1;
  start_tracer();
  int const second = ::open("locked", O_RDWR);
  std::printf("held %d\n", ::flock(second, LOCK_EX | LOCK_NB));
  ::close(first);
  std::printf("free %d\n", ::flock(second, LOCK_EX | LOCK_NB));
  return 0;
}

/// A lock of the process: a close of the same file anywhere in it would end it.
int keep_lock_of_process(Arguments const& /*unused*/) {
  int const file = ::open("locked", O_RDWR | O_CREAT, 0644);
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(file, F_SETLK, &request) != 0) return 1;
  start_tracer();

  pid_t const child = ::fork();
  if (child == 0) {
    request.l_type = F_WRLCK;
    ::_exit(::fcntl(file, F_SETLK, &request) == 0 ? 1 : 2);
  }

  std::printf("child %d\n", exit_of(child));
  return 0;
}

int listen_on(uint16_t port) {
  int const socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = port;

  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, 4) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

int listen_again_on_port(Arguments const& /*unused*/) {
  int const first = listen_on(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(first, reinterpret_cast<sockaddr*>(&address), &size);

  start_tracer();
  bool const is_taken = listen_on(address.sin_port) < 0;
  ::close(first);
  bool const is_free = listen_on(address.sin_port) >= 0;

  std::printf("taken %d, then free %d\n", static_cast<int>(is_taken), static_cast<int>(is_free));
  return 0;
}

int hang_up_connection(Arguments const& /*unused*/) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
  start_tracer();
  ::close(ends[0]);
  std::printf("%s\n", wait_for_end(ends[1]));
  return 0;
}

/// A closed descriptor leaves its epoll set only when no copy of it is open.
int leave_epoll_set(Arguments const& /*unused*/) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0 || ::write(ends[1], "x", 1) != 1) return 1;
  int const set = ::epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);

  start_tracer();
  int const before = ::epoll_wait(set, &event, 1, 0);
  ::close(ends[0]);
  std::printf("ready %d, then %d\n", before, ::epoll_wait(set, &event, 1, 50));
  return 0;
}

constexpr Case kCases[] = {
    {"pipe_end", read_to_end_of_pipe}, {"pipe_broken", write_to_broken_pipe},
    {"flock", release_lock_by_close},  {"process_lock", keep_lock_of_process},
    {"port", listen_again_on_port},    {"hang_up", hang_up_connection},
    {"epoll", leave_epoll_set}};

}  // namespace

Theme sharing_cases() { return {"sharing", kCases}; }

}  // namespace stepscope::attacks
