// All processes of a program, to stop them and let them go on: those of its process group, those
// that any of them has started, whatever group or session they have taken since (mpirun gives each
// rank a group of its own), and those that have connected to the command, which may have lost their
// parent.
#pragma once

#include <set>
#include <vector>

#include <sys/types.h>

#include "tracer/interleave/stopped_processes.h"

namespace stepscope::tracer {

/// Those that run below these, and these. Processes of other users cannot be left out, nor can
/// those that end meanwhile.
std::vector<pid_t> processes_below(std::vector<pid_t> const& roots);

class ProcessTree {
 public:
  /// `stopped` outlives it; it has this program's processes that are stopped.
  explicit ProcessTree(StoppedProcesses::List& stopped) : stopped_(stopped) {}

  /// The program's first process, which leads a process group.
  void set_leader(pid_t leader) { leader_ = leader; }
  /// The leader has ended: nothing is sent to its group any more.
  void forget_leader() { leader_ = 0; }
  void add(pid_t process) { others_.insert(process); }
  void remove(pid_t process) { others_.erase(process); }

  /// All of them, and those that they start while they are being stopped.
  void stop();
  /// Those that were not found by stop(). Cheap; to be called again while the program is stopped.
  void stop_late_ones();
  /// All that were stopped.
  void go_on();
  void kill();
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  /// To the process group alone: launchers hand signals on as they please.
  void signal_group(int number) const;

 private:
  [[nodiscard]] std::vector<pid_t> processes() const;
  bool stop_new();

  StoppedProcesses::List& stopped_;
  pid_t leader_ = 0;
  std::set<pid_t> others_, known_;  ///< known_: have got a signal to stop
  bool is_stopped_ = false;
};

}  // namespace stepscope::tracer
