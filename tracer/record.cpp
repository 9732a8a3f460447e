#include "tracer/record.h"

#include <filesystem>
#include <system_error>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/shell_word.h"
#include "tracer/core/options.h"
#include "tracer/record_parts.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// While the command runs: Ctrl-C is its business, SIGTERM and SIGHUP are handed on. A signal that
/// asks for a ring may be sent to all processes of a job, and is for the command alone.
class ForwardedSignals {
 public:
  explicit ForwardedSignals(int asks_for_ring) : asks_for_ring_(asks_for_ring) {
    sigemptyset(&waited_);
    for (int const signal : {SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&waited_, signal);
    ::pthread_sigmask(SIG_BLOCK, &waited_, &mask_before_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_before_);
    ::sigaction(SIGQUIT, &ignore, &quit_before_);
    if (asks_for_ring_ != 0) ::sigaction(asks_for_ring_, &ignore, &asking_before_);
  }
  ~ForwardedSignals() { restore(); }
  ForwardedSignals(ForwardedSignals const&) = delete;
  ForwardedSignals& operator=(ForwardedSignals const&) = delete;

  /// Also called in the child before it becomes the command.
  void restore() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGQUIT, &quit_before_, nullptr);
    if (asks_for_ring_ != 0) ::sigaction(asks_for_ring_, &asking_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  /// The status as waitpid() gives it.
  int wait_for(pid_t child) {
    for (;;) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != 0) return status;
      timespec const once_a_second = {1, 0};  // in case SIGCHLD went to another thread
      int const signal = ::sigtimedwait(&waited_, nullptr, &once_a_second);
      if (signal == SIGTERM || signal == SIGHUP) ::kill(child, signal);
    }
  }

 private:
  sigset_t waited_{}, mask_before_{};
  struct sigaction interrupt_before_ {};
  struct sigaction quit_before_ {};
  int const asks_for_ring_;  ///< 0 = no signal does
  struct sigaction asking_before_ {};
};

/// Once a job: a program that runs for weeks says nothing of how to ask it.
void print_how_to_ask(RecordOptions const& options) {
  if (rank_from_environment().value_or(0) != 0) return;
  std::string const run = base::shell_word(options.output);

  if (options.ring)
    fmt::print(stderr, "stepscope: keeps {} in memory; write it with: stepscope trigger {}\n",
               describe(*options.ring), run);
  if (options.stream)
    fmt::print(stderr,
               "stepscope: writes sums of each step; look at them with: stepscope live {}\n", run);
  if (options.on_request)
    fmt::print(stderr, "stepscope: records nothing until you ask with: stepscope trigger {}\n",
               run);
}

struct CommandResult {
  int exit_code = 0;
  int exec_error = 0;  ///< errno when the command could not be started
};

Expected<CommandResult> run_command(RecordOptions const& options, std::string const& library,
                                    std::vector<std::string> const& command) {
  auto const sampling = open_sampling(options);
  auto const environment = traced_environment(options, library, sampling_variables(sampling.get()));

  print_how_to_ask(options);
  ForwardedSignals signals(options.ring ? options.ring->signal : 0);
  auto const started = start_command(command, environment, [&] { signals.restore(); });
  if (!started) return base::fail_with(started);
  if (sampling != nullptr) sampling->run();

  return CommandResult{exit_code_of(signals.wait_for(started->child)), started->exec_error};
}

}  // namespace

Expected<int> record_command(RecordOptions const& options,
                             std::vector<std::string> const& command) {
  if (command.empty()) return fail("record: no command, write it after --");
  if (auto const good = check_options(options); !good) return base::fail_with(good);

  auto const library = find_library(options);
  if (!library) return base::fail_with(library);
  auto const made_folder = prepare_folder(options);
  if (!made_folder) return base::fail_with(made_folder);

  auto const result = run_command(options, *library, command);
  if (result && result->exec_error == 0) {
    complete_traces(options);
    print_what_is_left_out(options);
    print_what_was_recorded(options, command[0], result->exit_code);
    return result->exit_code;
  }

  std::error_code ignored;
  if (*made_folder) fs::remove(options.output, ignored);
  if (!result) return base::fail_with(result);
  return explain_exec_error(command[0], result->exec_error);
}

}  // namespace stepscope::tracer
