#include "tracer/core/turns/interleave_socket.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "tracer/core/sockets/local_socket.h"
#include "tracer/core/threads/private_descriptors.h"

namespace stepscope::tracer {
namespace {

std::optional<int64_t> ask_and_wait(int socket, int64_t turn) {
  InterleaveMessage message{turn};
  ssize_t got = 0;
  do got = ::send(socket, &message, sizeof message, MSG_NOSIGNAL);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return {};

  do got = ::recv(socket, &message, sizeof message, 0);
  while (got < 0 && errno == EINTR);
  bool const is_answer = got == sizeof message && message.turn > turn;
  return is_answer ? std::optional(message.turn) : std::nullopt;
}

bool other_end_is_gone(int socket) {
  InterleaveMessage message;
  ssize_t const got = ::recv(socket, &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/// None where there is no command, or no memory for the words of an error.
FileDescriptor connect_quietly(std::string const& address) {
  try {
    auto socket = connect_local(address);
    return socket ? std::move(*socket) : FileDescriptor();
  } catch (...) {
    return FileDescriptor();
  }
}

}  // namespace

base::Expected<std::unique_ptr<InterleaveSocket>> InterleaveSocket::open(std::string address) {
  std::unique_ptr<InterleaveSocket> self(new InterleaveSocket);
  auto thread =
      OwnThread::start("stepscope-turns",
                       [turns = self.get(), address = std::move(address)] { turns->run(address); });
  if (!thread) return base::fail_with(thread);
  self->thread_ = std::move(*thread);

  std::unique_lock lock(self->mutex_);
  self->changed_.wait(lock, [&] { return self->opened_.has_value(); });
  if (*self->opened_) return self;
  auto error = base::fail_with(*self->opened_);
  lock.unlock();
  return error;
}

InterleaveSocket::~InterleaveSocket() {
  if (!thread_) return;
  {
    std::lock_guard const lock(mutex_);
    request_ = Request::kEnd;
  }
  changed_.notify_all();
  thread_->join();
}

void InterleaveSocket::run(std::string const& address) {
  base::Expected<void> own = tl::unexpected(base::Error{});
  try {
    own = take_private_descriptors();
  } catch (...) {
    // No memory for the words of an error: without them, then.
  }

  std::unique_lock lock(mutex_);
  opened_.emplace();
  if (!own) *opened_ = tl::unexpected(std::move(own.error()));
  changed_.notify_all();
  if (own) answer_requests(address, lock);
}

void InterleaveSocket::answer_requests(std::string const& address,
                                       std::unique_lock<std::mutex>& lock) {
  FileDescriptor socket;
  bool was_connected = false;
  for (;;) {
    changed_.wait(lock, [this] { return request_ != Request::kNone; });
    Request const request = request_;
    int64_t const turn = turn_;
    if (request == Request::kEnd) return;

    lock.unlock();
    if (!std::exchange(was_connected, true)) socket = connect_quietly(address);
    std::optional<int64_t> answer;
    if (request == Request::kAsk)
      answer = ask_and_wait(socket.get(), turn);
    else if (!other_end_is_gone(socket.get()))
      answer = turn;

    lock.lock();
    answer_ = answer;
    if (request_ == request) request_ = Request::kNone;
    changed_.notify_all();
  }
}

std::optional<int64_t> InterleaveSocket::request(Request what, int64_t turn) {
  std::unique_lock lock(mutex_);
  request_ = what;
  turn_ = turn;
  changed_.notify_all();
  changed_.wait(lock, [this] { return request_ == Request::kNone; });
  return answer_;
}

std::optional<int64_t> InterleaveSocket::ask(int64_t turn) { return request(Request::kAsk, turn); }
bool InterleaveSocket::is_closed() { return !request(Request::kLook, 0); }

}  // namespace stepscope::tracer
