// Turns of a program that is recorded beside another one (`stepscope record --in-turn`). It trains
// some steps while the other waits at the begin of a step, and the other way round. The threads
// that annotate steps ask here before each of them. This is the one place where the tracer lets a
// program wait, because the user asked for it. It waits until its turn, or until the command that
// records reports the end of all turns, or is gone.
//
// A turn covers the steps of all threads of all processes of the program. Each thread takes so
// many, then waits; when all threads of a process wait, the process asks the command; when all
// processes ask, the turn ends. Meanwhile the command stops the whole program, so that its loaders
// and writers are held, too.
//
// Turns are counted from a process's first step. Processes meet in collectives, where one that had
// fewer steps than another would keep it waiting. So a process whose first step comes when others
// have had n turns takes the steps of n turns at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tracer/core/turns/interleave_socket.h"

namespace stepscope::tracer {

/// A range that ends where a step of a new turn begins.
inline constexpr char const* kHeldRange = "held: the other program's turn";
/// Behind it no step is in turn.
inline constexpr char const* kTurnsOverRange = "held no more: turns are over";

class Turns {
 public:
  /// What a thread has of turns.
  struct Member {
    bool joined = false, free = false;
    int64_t turn = 0;
    int64_t steps = 0;  ///< begun since it had to wait; 0 = none yet
    int64_t most = 0;   ///< then it has to wait again
  };

  /// `address` is the command's, which hears of this process at its first step. `steps` ≥ 1: of
  /// each thread, in a turn. Where the command is gone, or there can be no thread, turns are over.
  Turns(std::string address, int64_t steps);

  /// The next step of this thread is of the turn that it has, or turns are over for it; else it has
  /// to wait.
  [[nodiscard]] bool may_begin(Member& member) const {
    return member.free || (member.steps > 0 && member.steps < member.most && ++member.steps > 0);
  }
  /// Until its step is the first of a turn; false: turns are over.
  bool wait(Member& member);
  /// Turns that the process had. Any thread.
  [[nodiscard]] int64_t count() const { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t steps() const { return steps_; }
  /// The socket's.
  [[nodiscard]] bool has_thread() const { return has_thread_.load(std::memory_order_relaxed); }
  /// When no thread waits for a turn: there are no more.
  void end_thread();
  /// The thread exits.
  void leave(Member const& member);

 private:
  bool wait_whole(Member& member);
  void hand_over();

  int64_t const steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t turn_ = 0;   ///< 0 = before the first
  int64_t first_ = 0;  ///< number of the process's first turn, which has the steps of so many
  int64_t members_ = 0, waiting_ = 0;
  bool over_ = false;
  std::unique_ptr<InterleaveSocket> socket_;  ///< null: over from the begin
  std::atomic<bool> has_thread_{false};
  std::atomic<int64_t> count_{0};  ///< turn_, for who must not wait for the lock
};

}  // namespace stepscope::tracer
