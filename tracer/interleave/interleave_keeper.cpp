#include "tracer/interleave/interleave_keeper.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "trace/base/format.h"
#include "tracer/core/sockets/local_socket.h"
#include "tracer/core/turns/interleave_socket.h"

namespace stepscope::tracer {
namespace {

using KeeperClock = std::chrono::steady_clock;

/// How late the command finds a process that was started while its program was being stopped, and
/// the end of a program where the system has no descriptors of processes.
constexpr int kLookAgainMs = 200;
/// One a process that marks steps; more are no job of one machine.
constexpr size_t kMostPeers = 1'024;
constexpr char const* kBeside = "both programs went on beside each other";

}  // namespace

void InterleaveKeeper::run() {
  while (!sides_[0].status || !sides_[1].status) {
    wait();
    while (auto const number = signals_.next()) forward(*number);
    for (InterleaveSide& side : sides_) reap(side);
    if (over_) continue;

    for (size_t side = 0; side < sides_.size(); ++side) accept_peers(side);
    for (Peer& peer : peers_) receive(peer);
    std::erase_if(peers_, [](Peer const& peer) { return peer.socket.get() < 0; });
    take_turns();
    end_when_stuck();
  }
}

void InterleaveKeeper::wait() {
  std::vector<pollfd> what = {pollfd{signals_.descriptor(), POLLIN, 0}};
  for (InterleaveSide const& side : sides_) {
    what.push_back(pollfd{side.end.get(), POLLIN, 0});
    what.push_back(pollfd{side.listener.get(), POLLIN, 0});
  }
  for (Peer const& peer : peers_) what.push_back(pollfd{peer.socket.get(), POLLIN, 0});

  if (::poll(what.data(), what.size(), kLookAgainMs) != 0) return;
  for (InterleaveSide& side : sides_) side.processes.stop_late_ones();
}

/// A program that is stopped gets it when it goes on.
void InterleaveKeeper::forward(int number) {
  end_turns("a signal came, and both programs got it");
  for (InterleaveSide const& side : sides_) side.processes.signal_group(number);
}

void InterleaveKeeper::reap(InterleaveSide& side) {
  int status = 0;
  if (side.status || ::waitpid(side.child, &status, WNOHANG) != side.child) return;
  end_turns("");
  side.status = status;
  side.end.close();
  side.processes.forget_leader();
}

void InterleaveKeeper::accept_peers(size_t number) {
  InterleaveSide& side = sides_[number];
  while (side.listener.get() >= 0) {
    FileDescriptor socket = accept_local(side.listener.get());
    bool const waits_for_no_one = socket.get() < 0 && errno == EAGAIN;
    if (waits_for_no_one) return;

    // No descriptors left: who comes later has no turns.
    if (socket.get() < 0 || peers_.size() == kMostPeers) {
      side.listener.close();
      return;
    }
    pid_t const process = peer_process(socket.get());
    if (process > 0) side.processes.add(process);
    peers_.push_back(Peer{next_number_++, number, process, std::move(socket)});
  }
}

void InterleaveKeeper::receive(Peer& peer) {
  InterleaveMessage message;
  ssize_t const got = ::recv(peer.socket.get(), &message, sizeof message, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;

  if (got == sizeof message) {
    order_.ask(peer.side, peer.number, message.turn, KeeperClock::now());
    return;
  }
  order_.leave(peer.number, KeeperClock::now());
  sides_[peer.side].processes.remove(peer.process);
  peer.socket.close();
}

void InterleaveKeeper::take_turns() {
  auto const answers = order_.take_answers();
  if (answers.empty()) return;
  sides_[1 - *order_.holder()].processes.stop();
  sides_[*order_.holder()].processes.go_on();

  for (TurnOrder::Answer const& answer : answers) {
    auto const peer = std::find_if(peers_.begin(), peers_.end(),
                                   [&](Peer const& one) { return one.number == answer.process; });
    InterleaveMessage const train{answer.turn};
    // One that is gone is noticed when its socket is read.
    if (peer != peers_.end())
      ::send(peer->socket.get(), &train, sizeof train, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void InterleaveKeeper::end_when_stuck() {
  if (!order_.holder()) return;
  std::string const& program = sides_[*order_.holder()].program;
  auto const now = KeeperClock::now();
  if (order_.trains_no_more(now)) return end_turns(program + " trains no more; " + kBeside);

  auto const lasted = order_.kept_too_long(now);
  if (!lasted) return;
  auto const missing = order_.missing();
  std::string const which = missing.of > 1
                                ? fmt::format(", {} of its {} processes did not come to its end",
                                              missing.processes, missing.of)
                                : std::string();
  end_turns(fmt::format("{} kept its turn for {}{}; {}", program,
                        base::format_duration(lasted->count()), which, kBeside));
}

void InterleaveKeeper::end_turns(std::string reason) {
  if (over_) return;
  over_ = true;
  reason_ = std::move(reason);

  for (Peer const& peer : peers_) ::shutdown(peer.socket.get(), SHUT_RDWR);
  peers_.clear();
  for (InterleaveSide& side : sides_) {
    side.listener.close();
    side.processes.go_on();
  }
}

}  // namespace stepscope::tracer
