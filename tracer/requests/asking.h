// Asks the processes of a run, which look for requests in its folder (messages.h). No process waits
// for another one: who asks learns where all of them are, and names steps that lie ahead of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/lock_file.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {

struct AskedWindow {
  int64_t steps = 5;
  /// Steps from the furthest process to the first of the window; none: enough for kLeadPeriods.
  std::optional<int64_t> ahead;
  bool without_missing = false;  ///< also where ranks of the job have no steps
};

struct AskedTime {
  int64_t duration_ns = 0, now_epoch_ns = 0;
  bool without_missing = false;  ///< also where ranks of the job are not recorded
};

/// From the answers to the first step of a window, in periods in which each process looks for a
/// request: a file server may show it late.
inline constexpr int64_t kLeadPeriods = 8;

/// What has all of these record for so long, from the same moment of their clocks on. Errors: one
/// is recording or waits for its window already, or ranks are missing.
base::Expected<Request> choose_time(std::vector<ProcessState> const& processes,
                                    AskedTime const& asked);
/// The steps that all of these can record which have steps. Errors: none has marked one, one is
/// recording or waits for its window already, ranks are missing, or the steps are too many.
base::Expected<StepRange> choose_steps(std::vector<ProcessState> const& processes,
                                       AskedWindow const& asked);
/// What has them write the rings that they keep, each up to now. Errors: one keeps none.
base::Expected<Request> choose_ring(std::string const& run,
                                    std::vector<ProcessState> const& processes);
/// "rank 3 (process 4711 on node2)".
std::string describe(ProcessState const& process);
/// False where it said that it ends, or where it is on this machine and is no more.
bool may_live(ProcessState const& process);

/// Where two ask at once, the second one comes when the first has its answers.
inline constexpr std::chrono::milliseconds kPatience{5000};

/// One who asks; others are refused meanwhile.
class Asking {
 public:
  /// Errors: nothing can be asked there, or another command asks for longer than `patience`.
  static base::Expected<Asking> begin(std::string run,
                                      std::chrono::milliseconds patience = kPatience);

  /// The processes that live, and how far they are. Errors: none lives, or one does not answer
  /// within `timeout`.
  base::Expected<std::vector<ProcessState>> ask(std::chrono::nanoseconds timeout);
  /// The processes that will record these steps, out of `processes`. Errors: one is past them, or
  /// does not answer within `timeout`; what the others record is whole.
  base::Expected<std::vector<ProcessState>> ask_for_window(
      std::vector<ProcessState> const& processes, StepRange steps,
      std::chrono::nanoseconds timeout);
  /// As that, for what choose_time() has returned.
  base::Expected<std::vector<ProcessState>> ask_for_time(std::vector<ProcessState> const& processes,
                                                         Request const& request,
                                                         std::chrono::nanoseconds timeout);
  /// The processes that write what they keep, as they were in `processes`: one may have written it
  /// when it answers. Errors: as ask(); what the others write is whole.
  base::Expected<std::vector<ProcessState>> ask_for_ring(std::vector<ProcessState> const& processes,
                                                         Request const& request,
                                                         std::chrono::nanoseconds timeout);
  /// `kind` is kStop, kFlush, or kNone for a window whose steps have not come. Errors: as ask().
  base::Expected<std::vector<ProcessState>> ask_to(Request::Kind kind,
                                                   std::chrono::nanoseconds timeout);
  /// The processes that do not answer within `timeout`. Errors: the question cannot be written.
  base::Expected<std::vector<ProcessState>> find_silent(std::chrono::nanoseconds timeout);

 private:
  struct Answers {
    std::vector<ProcessState> answered, silent;
  };
  Asking(std::string run, base::LockFile lock) : run_(std::move(run)), lock_(std::move(lock)) {}
  base::Expected<std::vector<ProcessState>> those_that_take(
      std::vector<ProcessState> const& processes, Request const& request, std::string const& what,
      std::string const& remedy, std::chrono::nanoseconds timeout);
  base::Expected<Answers> answers_to(Request request, std::chrono::nanoseconds timeout);
  base::Expected<std::vector<ProcessState>> all_answers_to(Request const& request,
                                                           std::chrono::nanoseconds timeout);

  std::string run_;
  base::LockFile lock_;
};

/// What became of a window.
struct WrittenWindow {
  std::vector<ProcessState> written;  ///< `file` is that of the window
  std::vector<ProcessState> without;  ///< ended before, never marked these steps, or went silent
  std::vector<ProcessState> waiting;  ///< none of these, when the time was over
};
/// How the wait for a window goes.
struct WindowWait {
  std::chrono::nanoseconds timeout{};
  std::string ring;  ///< its name, where a ring is waited for
  std::chrono::nanoseconds question_period = std::chrono::seconds(10);  ///< who still answers
  /// Called once, with those that are waited for and for how long none of them has begun a step; it
  /// is never less than `still_after` or three of their steps.
  std::function<void(std::vector<ProcessState> const&, std::chrono::nanoseconds)> when_still = {};
  std::chrono::nanoseconds still_after = std::chrono::seconds(60);
};
/// `recording`: what ask_for_window(), ask_for_time() or ask_for_ring() returned.
WrittenWindow wait_for_window(std::string const& run, std::vector<ProcessState> const& recording,
                              WindowWait const& wait);

}  // namespace stepscope::tracer
