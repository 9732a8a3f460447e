#include "tracer/core/turns/interleave.h"

#include <chrono>
#include <utility>

#include "tracer/core/threads/uninterrupted.h"

namespace stepscope::tracer {

Turns::Turns(std::string address, int64_t steps) : steps_(steps) {
  auto opened = InterleaveSocket::open(std::move(address));
  over_ = !opened;
  if (opened) socket_ = std::move(*opened);
  has_thread_ = opened.has_value();
}

void Turns::end_thread() {
  std::lock_guard const lock(mutex_);
  over_ = true;
  socket_.reset();
  has_thread_ = false;
}

bool Turns::wait(Member& member) {
  return not_cancelled([&] { return wait_whole(member); });
}

/// The thread is counted until it has its turn.
bool Turns::wait_whole(Member& member) {
  std::unique_lock lock(mutex_);
  bool const is_new = !member.joined;
  if (is_new) ++members_;
  member.joined = true;
  bool const waits = member.turn == turn_;  // else the others have a new turn already
  if (waits) ++waiting_;

  while (!over_ && member.turn == turn_) {
    if (waiting_ >= members_) {
      hand_over();
    } else {
      changed_.wait_for(lock, std::chrono::seconds(1));
      over_ = over_ || socket_ == nullptr || socket_->is_closed();
    }
  }

  changed_.notify_all();
  member.free = over_;
  int64_t const turns = is_new && turn_ == first_ ? first_ : 1;
  member.turn = turn_;
  member.steps = 1;
  member.most = turns * steps_;
  return !over_;
}

/// No thread of this process trains now; new threads wait for the lock.
void Turns::hand_over() {
  auto const turn = socket_->ask(turn_);
  over_ = !turn;
  waiting_ = 0;
  if (!turn) return;

  if (first_ == 0) first_ = *turn;
  turn_ = *turn;
  count_.store(turn_, std::memory_order_relaxed);
}

void Turns::leave(Member const& member) {
  if (!member.joined) return;
  std::lock_guard const lock(mutex_);
  --members_;
  changed_.notify_all();  // the last of the others may be who gives the turn back
}

}  // namespace stepscope::tracer
