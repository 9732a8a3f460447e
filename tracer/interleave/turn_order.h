// Which of two programs may train, and which steps each of their processes may begin. Rules alone:
// no sockets, no signals, and the time is the caller's.
//
// A turn covers all processes of a program that mark steps: it ends when each of them asks for the
// next one. They meet in collectives, so each must have begun the same number of steps by then. A
// process that joins late is allowed at once the turns that the others have had.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stepscope::tracer {

class TurnOrder {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// A process that may go on: it may begin the steps of its first `turn` turns.
  struct Answer {
    int64_t process = 0, turn = 0;
  };
  /// How many processes of the program that has the turn have not come to its end, of how many.
  struct Missing {
    size_t processes = 0, of = 0;
  };

  /// A process is at the begin of a step, with all of its threads. It takes part from its first
  /// question on. `process` is a number that no other one has, `had` the turns that it has had.
  void ask(size_t program, int64_t process, int64_t had, Time now);
  /// The process has ended. No other one waits for it.
  void leave(int64_t process, Time now);

  /// The program that trains; none before both have asked.
  [[nodiscard]] std::optional<size_t> holder() const { return holder_; }
  /// Answers since the last call, of processes of the program that trains.
  std::vector<Answer> take_answers();
  /// Turns of both programs together.
  [[nodiscard]] int64_t given() const { return given_; }

  /// The turn has lasted this long, and that is too long: its program may wait for what the other
  /// one holds, or its processes for each other.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> kept_too_long(Time now) const;
  [[nodiscard]] Missing missing() const;
  /// The program that trains has had no process with steps for so long that none will come.
  [[nodiscard]] bool trains_no_more(Time now) const;

 private:
  struct Process {
    size_t program = 0;
    int64_t turn = 0;  ///< the last that it was allowed
    bool waits = false;
  };

  void answer(int64_t number, Process& process);
  void end_turn_if_over(Time now);
  void begin_turn(Time now);
  [[nodiscard]] bool has_processes(size_t program) const;
  [[nodiscard]] bool all_wait(size_t program) const;

  std::map<int64_t, Process> processes_;
  /// Turns since the processes that a program has now began; 0 while it has none.
  std::array<int64_t, 2> turns_{};
  std::optional<size_t> holder_;
  int64_t given_ = 0;
  Time since_;                      ///< of the turn
  std::optional<Time> left_since_;  ///< the program that has the turn has no process
  std::chrono::nanoseconds longest_{};
  std::vector<Answer> answers_;
};

}  // namespace stepscope::tracer
