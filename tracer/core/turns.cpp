#include "tracer/core/turns.h"

#include <cerrno>
#include <chrono>

#include <sys/socket.h>
#include <unistd.h>

namespace stepscope::tracer {

bool Turns::wait(Member& member) {
  std::unique_lock lock(mutex_);
  if (!member.joined) ++members_;
  member.joined = true;
  bool const waits = member.turn == turn_;  // else the others have a new turn already
  if (waits) ++waiting_;
  while (!over_ && member.turn == turn_) {
    if (waiting_ >= members_) {
      hand_over();
    } else {
      changed_.wait_for(lock, std::chrono::seconds(1));
      over_ = over_ || is_closed();
    }
  }
  changed_.notify_all();
  member.free = over_;
  member.turn = turn_;
  member.steps = 1;
  return !over_;
}

/// Nobody of this process trains now; new threads wait for the lock.
void Turns::hand_over() {
  TurnMessage message{::getpid()};
  ssize_t got = 0;
  do got = ::send(socket_, &message, sizeof message, MSG_NOSIGNAL);
  while (got < 0 && errno == EINTR);
  while (got > 0) {
    got = ::recv(socket_, &message, sizeof message, 0);
    if (got < 0 && errno == EINTR)
      got = 1;
    else
      break;
  }
  over_ = got <= 0;
  waiting_ = 0;
  if (!over_) count_.store(++turn_, std::memory_order_relaxed);
}

bool Turns::is_closed() const {
  TurnMessage message;
  ssize_t const got = ::recv(socket_, &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void Turns::leave(Member const& member) {
  if (!member.joined) return;
  std::lock_guard const lock(mutex_);
  --members_;
  changed_.notify_all();  // the last of the others may be who gives the turn back
}

}  // namespace stepscope::tracer
