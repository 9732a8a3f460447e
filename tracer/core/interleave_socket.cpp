#include "tracer/core/interleave_socket.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/core/threads/private_descriptors.h"

namespace stepscope::tracer {
namespace {

bool ask_and_wait(int socket) {
  InterleaveMessage message{::getpid()};
  ssize_t got = 0;
  do got = ::send(socket, &message, sizeof message, MSG_NOSIGNAL);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  do got = ::recv(socket, &message, sizeof message, 0);
  while (got < 0 && errno == EINTR);
  return got > 0;
}

bool is_same(ProgramSocket socket) {
  struct stat status {};
  return ::fstat(socket.number, &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_ino == socket.inode;
}

bool other_end_is_gone(int socket) {
  InterleaveMessage message;
  ssize_t const got = ::recv(socket, &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

base::Expected<std::unique_ptr<InterleaveSocket>> InterleaveSocket::open(ProgramSocket socket) {
  std::unique_ptr<InterleaveSocket> self(new InterleaveSocket);
  auto thread =
      OwnThread::start("stepscope-turns", [turns = self.get(), socket] { turns->run(socket); });
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

void InterleaveSocket::run(ProgramSocket socket) {
  base::Expected<void> own = tl::unexpected(base::Error{});
  try {
    own = take_private_descriptors(socket.number);
    // Looked at here, where nothing can take its place any more.
    if (own && !is_same(socket)) own = base::fail("the program has closed the socket of its turns");
  } catch (...) {
    // No memory for the words of an error: without them, then.
  }

  std::unique_lock lock(mutex_);
  opened_.emplace();
  if (!own) *opened_ = tl::unexpected(std::move(own.error()));
  changed_.notify_all();
  if (own) answer_requests(socket.number, lock);
}

void InterleaveSocket::answer_requests(int socket, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    changed_.wait(lock, [this] { return request_ != Request::kNone; });
    Request const request = request_;
    if (request == Request::kEnd) return;

    lock.unlock();
    bool const answer = request == Request::kAsk ? ask_and_wait(socket) : other_end_is_gone(socket);

    lock.lock();
    answer_ = answer;
    if (request_ == request) request_ = Request::kNone;
    changed_.notify_all();
  }
}

bool InterleaveSocket::request(Request what) {
  std::unique_lock lock(mutex_);
  request_ = what;
  changed_.notify_all();
  changed_.wait(lock, [this] { return request_ == Request::kNone; });
  return answer_;
}

bool InterleaveSocket::ask() { return request(Request::kAsk); }
bool InterleaveSocket::is_closed() { return request(Request::kLook); }

}  // namespace stepscope::tracer
