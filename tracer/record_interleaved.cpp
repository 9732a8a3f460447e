#include "tracer/record_interleaved.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/format.h"
#include "tracer/core/options.h"
#include "tracer/core/sockets/local_socket.h"
#include "tracer/interleave/interleave_keeper.h"
#include "tracer/record_parts.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;

/// In a process group of its own, so that all of it can be stopped; without an input, which both
/// would read.
Expected<int> start(InterleaveSide& side, InterleavedProgram const& program,
                    RecordOptions const& options, std::string const& library, int64_t turn_steps,
                    ReadSignals& signals, nvml::SamplingService const* sampling) {
  std::string const address = new_local_address("turns");
  auto listener = listen_local(address);
  if (!listener)
    return fail("{}: cannot be started ({})", program.command[0], listener.error().message);
  side.listener = std::move(*listener);
  ::fcntl(side.listener.get(), F_SETFL, O_NONBLOCK);

  auto variables = sampling_variables(sampling);
  variables.emplace_back(kTurnSocketVariable, address);
  variables.emplace_back(kTurnStepsVariable, fmt::format("{}", turn_steps));
  auto const environment = traced_environment(options, library, variables);

  auto const started = start_command(program.command, environment, [&] {
    ::setpgid(0, 0);
    if (int const nothing = ::open("/dev/null", O_RDONLY); nothing >= 0)
      ::dup2(nothing, STDIN_FILENO);
    signals.restore();
  });

  if (!started) return base::fail_with(started);
  ::setpgid(started->child, started->child);

  side.program = base::printable(program.command[0]);
  side.child = started->child;
  side.processes.set_leader(started->child);
  side.end = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, started->child, 0)));
  return started->exec_error;
}

void end_at_once(InterleaveSide& side) {
  if (side.child < 0) return;
  side.processes.kill();
  ::waitpid(side.child, nullptr, 0);
}

void print_how_it_went(InterleaveKeeper const& keeper, int64_t turn_steps) {
  if (!keeper.reason().empty())
    fmt::print(stderr, "stepscope: turns ended early: {}\n", keeper.reason());

  if (keeper.turns_of_both() > 0) {
    fmt::print(stderr, "stepscope: {} turns each, of {} steps\n", keeper.turns_of_both(),
               turn_steps);
  } else {
    fmt::print(stderr,
               "stepscope: no step was in turn: both have to annotate steps, as "
               "docs/guide/ANNOTATIONS.md says\n");
  }
}

Expected<void> check_turns(RecordOptions const& options, InterleavedProgram const& first,
                           InterleavedProgram const& second) {
  if (first.command.empty() || second.command.empty())
    return fail(
        "--in-turn: name both programs after --, with : between them: -- python3 old.py : python3 "
        "new.py");

  auto const whole = [](std::string const& path) {
    return std::filesystem::absolute(path + "/").lexically_normal();
  };
  if (whole(first.output) == whole(second.output))
    return fail("--in-turn {}: each program has a run of its own, name another folder",
                second.output);

  if (!options.steps.empty() || options.every_steps > 0 || options.on_request ||
      !options.range.empty() || options.delay_ns || options.duration_ns || options.from_code)
    return fail("--in-turn records all steps: leave out what says where recording begins and ends");
  if (rank_from_environment())
    return fail(
        "--in-turn: start it once, with the launcher in both commands: stepscope record -o old "
        "--in-turn new -- mpirun -n 2 old/train : mpirun -n 2 new/train");

  return check_options(options);
}

}  // namespace

Expected<int> record_interleaved(RecordOptions const& options, int64_t turn_steps,
                                 InterleavedProgram const& first,
                                 InterleavedProgram const& second) {
  std::array const programs = {&first, &second};
  if (auto const good = check_turns(options, first, second); !good) return base::fail_with(good);
  auto const library = find_library(options);
  if (!library) return base::fail_with(library);

  std::array<RecordOptions, 2> own = {options, options};
  std::array<bool, 2> made{};
  StoppedProcesses stopped;
  std::array<InterleaveSide, 2> sides = {InterleaveSide{stopped.of(0)},
                                         InterleaveSide{stopped.of(1)}};
  ReadSignals signals;
  auto const sampling = open_sampling(options);
  auto const take_back = [&] {
    for (InterleaveSide& side : sides) end_at_once(side);
    std::error_code ignored;

    for (size_t s = 0; s < 2; ++s)
      if (made[s]) std::filesystem::remove_all(own[s].output, ignored);
  };

  for (size_t s = 0; s < 2; ++s) {
    own[s].output = programs[s]->output;
    auto const made_folder = prepare_folder(own[s]);
    if (!made_folder) {
      take_back();
      return base::fail_with(made_folder);
    }
    made[s] = *made_folder;
  }
  for (size_t s = 0; s < 2; ++s) {
    auto const exec_error =
        start(sides[s], *programs[s], own[s], *library, turn_steps, signals, sampling.get());
    if (exec_error && *exec_error == 0) continue;
    take_back();
    if (!exec_error) return base::fail_with(exec_error);
    return explain_exec_error(programs[s]->command[0], *exec_error);
  }

  if (sampling != nullptr) sampling->run();
  InterleaveKeeper keeper(sides, signals);
  keeper.run();

  int exit_code = 0;
  for (size_t s = 0; s < 2; ++s) {
    complete_traces(own[s]);
    print_what_was_recorded(own[s], programs[s]->command[0], exit_code_of(*sides[s].status));
    if (exit_code == 0) exit_code = exit_code_of(*sides[s].status);
  }

  print_what_is_left_out(options);
  print_how_it_went(keeper, turn_steps);
  return exit_code;
}

}  // namespace stepscope::tracer
