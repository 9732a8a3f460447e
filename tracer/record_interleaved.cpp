#include "tracer/record_interleaved.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/format.h"
#include "tracer/core/interleave.h"
#include "tracer/core/options.h"
#include "tracer/record_parts.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;
using Clock = std::chrono::steady_clock;

/// Who keeps its turn for longer, and for so many times the longest turn before, may wait for what
/// the other one holds.
constexpr std::chrono::seconds kLongTurn{30};
constexpr int kTimesTheLongest = 20;
/// Between the end of all that has the socket and that of the program itself.
constexpr std::chrono::seconds kTimeToEnd{1};
/// In case the kernel has no file descriptors of processes.
constexpr int kLookAgainMs = 200;
constexpr char const* kBeside = "both programs went on beside each other";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor const&) = delete;
  FileDescriptor& operator=(FileDescriptor const&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A signal for the command is read from descriptor(), not acted upon.
class ReadSignals {
 public:
  ReadSignals() {
    sigset_t mask;
    sigemptyset(&mask);
    for (int const signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) sigaddset(&mask, signal);
    ::pthread_sigmask(SIG_BLOCK, &mask, &before_);
    descriptor_ = FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~ReadSignals() { restore(); }
  ReadSignals(ReadSignals const&) = delete;
  ReadSignals& operator=(ReadSignals const&) = delete;
  void restore() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  std::optional<int> next() {
    signalfd_siginfo info;
    if (::read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
      return {};
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
};

struct Side {
  std::string program;
  pid_t group = -1;
  FileDescriptor socket, process;
  bool ready = false;    ///< it was at the begin of a step once
  bool stopped = false;  ///< by us
  int64_t process_id = 0;
  std::optional<int> status;  ///< it has ended

  void signal(int number) const {
    if (!status) ::kill(-group, number);
  }
  void stop() {
    if (!stopped) signal(SIGSTOP);
    stopped = true;
  }
  void go_on() {
    if (stopped) signal(SIGCONT);
    stopped = false;
  }
};

class InterleaveKeeper {
 public:
  InterleaveKeeper(std::array<Side, 2>& sides, ReadSignals& signals)
      : sides_(sides), signals_(signals) {}

  /// Until both have ended.
  void run() {
    while (!sides_[0].status || !sides_[1].status) {
      wait();
      while (auto const number = signals_.next()) forward(*number);
      for (size_t s = 0; s < 2; ++s) reap(sides_[s]);
      for (size_t s = 0; s < 2 && !over_; ++s) receive(s);

      if (!over_ && lost_since_ && Clock::now() - *lost_since_ > kTimeToEnd)
        end_turns(fmt::format("{} trains no more; {}", lost_, kBeside));
      if (!over_ && holder_ && Clock::now() - since_ > limit())
        end_turns(fmt::format(
            "{} kept its turn for {}; {}", sides_[*holder_].program,
            base::format_duration(std::chrono::nanoseconds(Clock::now() - since_).count()),
            kBeside));
    }
  }
  [[nodiscard]] int64_t turns_of_both() const { return given_ / 2; }
  /// Why turns ended before one of the two did; empty = they did not.
  [[nodiscard]] std::string const& reason() const { return reason_; }

 private:
  void wait() {
    std::array<pollfd, 5> what = {
        pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{sides_[0].process.get(), POLLIN, 0},
        pollfd{sides_[1].process.get(), POLLIN, 0}, pollfd{sides_[0].socket.get(), POLLIN, 0},
        pollfd{sides_[1].socket.get(), POLLIN, 0}};
    ::poll(what.data(), what.size(), kLookAgainMs);
  }
  /// A program that is stopped gets it when it goes on.
  void forward(int number) {
    end_turns("a signal came, and both programs got it");
    for (Side const& side : sides_) side.signal(number);
  }
  void reap(Side& side) {
    int status = 0;
    if (side.status || ::waitpid(side.group, &status, WNOHANG) != side.group) return;
    end_turns("");
    side.status = status;
    side.process.close();
  }
  void receive(size_t s) {
    Side& side = sides_[s];
    InterleaveMessage message;
    ssize_t const got = ::recv(side.socket.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got < 0) return;

    if (got != sizeof message) return lose(side);
    if (side.ready && side.process_id != message.process_id)
      return end_turns(
          fmt::format("several processes of {} annotate steps; {}", side.program, kBeside));

    side.ready = true;
    side.process_id = message.process_id;
    if (holder_ ? *holder_ == s : sides_[0].ready && sides_[1].ready) next_turn();
  }
  /// A B, B A, A B: a machine that becomes steadily slower or faster is in favour of neither.
  void next_turn() {
    if (holder_) longest_ = std::max<Clock::duration>(longest_, Clock::now() - since_);
    holder_ = static_cast<size_t>((given_ + 1) / 2 % 2);
    ++given_;
    sides_[1 - *holder_].stop();
    sides_[*holder_].go_on();
    since_ = Clock::now();
    InterleaveMessage const train;
    if (::send(sides_[*holder_].socket.get(), &train, sizeof train, MSG_NOSIGNAL) != sizeof train)
      lose(sides_[*holder_]);
  }
  /// The program that could ask is gone: it has ended, or is about to; else it goes on without
  /// steps.
  void lose(Side& side) {
    side.socket.close();
    if (!lost_since_) lost_since_ = Clock::now();
    lost_ = side.program;
  }
  void end_turns(std::string reason) {
    if (over_) return;
    over_ = true;
    reason_ = std::move(reason);
    for (Side& side : sides_) {
      ::shutdown(side.socket.get(), SHUT_RDWR);
      side.socket.close();
      side.go_on();
    }
  }
  [[nodiscard]] Clock::duration limit() const {
    return std::max<Clock::duration>(kLongTurn, kTimesTheLongest * longest_);
  }

  std::array<Side, 2>& sides_;
  ReadSignals& signals_;
  std::optional<size_t> holder_;
  int64_t given_ = 0;
  Clock::time_point since_;
  Clock::duration longest_{};
  bool over_ = false;
  std::optional<Clock::time_point> lost_since_;
  std::string lost_, reason_;
};

/// In a process group of its own, so that all of it can be stopped; without an input, which both
/// would read.
Expected<int> start(Side& side, InterleavedProgram const& program, RecordOptions const& options,
                    std::string const& library, int64_t turn_steps, ReadSignals& signals,
                    nvml::SamplingService const* sampling) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail("{}: cannot be started ({})", program.command[0], std::strerror(errno));

  side.socket = FileDescriptor(ends[0]);
  FileDescriptor const of_child(ends[1]);
  struct stat status {};
  if (::fstat(of_child.get(), &status) != 0)
    return fail("{}: cannot be started ({})", program.command[0], std::strerror(errno));

  auto variables = sampling_variables(sampling);
  variables.emplace_back(kTurnSocketVariable, fmt::format("{}:{}", of_child.get(), status.st_ino));
  variables.emplace_back(kTurnStepsVariable, fmt::format("{}", turn_steps));
  auto const environment = traced_environment(options, library, variables);

  auto const started = start_command(program.command, environment, [&] {
    ::setpgid(0, 0);
    ::fcntl(of_child.get(), F_SETFD, 0);
    if (int const nothing = ::open("/dev/null", O_RDONLY); nothing >= 0)
      ::dup2(nothing, STDIN_FILENO);
    signals.restore();
  });

  if (!started) return base::fail_with(started);
  ::setpgid(started->child, started->child);

  side.program = base::printable(program.command[0]);
  side.group = started->child;
  side.process = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, started->child, 0)));
  return started->exec_error;
}

void end_at_once(Side& side) {
  if (side.group < 0) return;
  side.signal(SIGKILL);
  ::waitpid(side.group, nullptr, 0);
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

  if (!options.steps.empty() || !options.range.empty() || options.delay_ns || options.duration_ns ||
      options.from_code)
    return fail("--in-turn records all steps: leave out what says where recording begins and ends");
  if (rank_from_environment())
    return fail("--in-turn records programs of one process, not the ranks of a job");

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
  std::array<Side, 2> sides;
  ReadSignals signals;
  auto const sampling = open_sampling(options);
  auto const take_back = [&] {
    for (Side& side : sides) end_at_once(side);
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
    print_what_was_recorded(own[s], programs[s]->command[0]);
    if (exit_code == 0) exit_code = exit_code_of(*sides[s].status);
  }

  print_what_is_left_out(options);
  print_how_it_went(keeper, turn_steps);
  return exit_code;
}

}  // namespace stepscope::tracer
