// Asks the processes of a run, which look for requests in its folder (messages.h). No process waits
// for another one: who asks learns where all of them are, and names steps that lie ahead of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/lock_file.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {

struct AskedWindow {
  int64_t steps = 5;
  /// Steps from the furthest process to the first of the window; none: enough for kLeadNs.
  std::optional<int64_t> ahead;
};

/// Between the answers and the first step of a window: each process looks several times meanwhile,
/// also where a file server tells it late.
inline constexpr int64_t kLeadNs = 2'000'000'000;

/// The steps that all of these can record. Errors: none of them has marked a step, one is recording
/// or waits for its window already, ranks are missing, or the steps are too many.
base::Expected<StepRange> choose_steps(std::vector<ProcessState> const& processes,
                                       AskedWindow const& asked);
/// "rank 3 (process 4711 on node2)".
std::string describe(ProcessState const& process);
/// False where it is on this machine and is no more.
bool may_live(ProcessState const& process);

/// One who asks; others are refused meanwhile.
class Asking {
 public:
  /// Errors: nothing can be asked there, or somebody else asks.
  static base::Expected<Asking> begin(std::string run);

  /// The processes that live, and how far they are. Errors: none lives, or one does not answer
  /// within `timeout`.
  base::Expected<std::vector<ProcessState>> ask(std::chrono::nanoseconds timeout);
  /// The processes that will record these steps, out of `processes`. Errors: one is past them, or
  /// does not answer within `timeout`; what the others record is whole.
  base::Expected<std::vector<ProcessState>> ask_for_window(
      std::vector<ProcessState> const& processes, StepRange steps,
      std::chrono::nanoseconds timeout);
  /// Errors: as ask().
  base::Expected<std::vector<ProcessState>> ask_to_stop(std::chrono::nanoseconds timeout);

 private:
  Asking(std::string run, base::LockFile lock) : run_(std::move(run)), lock_(std::move(lock)) {}
  base::Expected<std::vector<ProcessState>> answers_to(Request request,
                                                       std::chrono::nanoseconds timeout);

  std::string run_;
  base::LockFile lock_;
};

/// What became of a window.
struct WrittenWindow {
  std::vector<ProcessState> written;  ///< `file` is that of the window
  std::vector<ProcessState> without;  ///< ended before, or never marked these steps
  std::vector<ProcessState> waiting;  ///< neither, when the time was over
};
/// `recording`: what ask_for_window() returned.
WrittenWindow wait_for_window(std::string const& run, std::vector<ProcessState> const& recording,
                              std::chrono::nanoseconds timeout);

}  // namespace stepscope::tracer
