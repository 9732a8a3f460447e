// All processes of a program, to stop them and let them go on. They are its process group, and all
// that these have started, also those in other groups or sessions: mpirun gives each rank a group
// of its own. Processes that have connected to the command belong to it, too: they may have lost
// their parent.
#pragma once

#include <set>
#include <vector>

#include <sys/types.h>

#include "tracer/interleave/stopped_processes.h"

namespace stepscope::tracer {

/// The roots, and all processes that they or these have started. One that ends meanwhile may be
/// among them; one that begins meanwhile may be missing.
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

  /// Stops all, and what they start while they are being stopped.
  void stop();
  /// Stops what stop() has not found; to be called again while the program is stopped.
  void stop_late_ones();
  /// Continues all that were stopped.
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
