// Forks, execs and daemons, with and without threads that make events meanwhile.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

constexpr int kBusyThreads = 4;

/// Forks twice and closes its descriptors; the last process does the work and outlives the first.
int become_daemon(Arguments const& /*unused*/) {
  work(10);
  std::fflush(stdout);
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (int fd = 0; fd < 3; ++fd) ::close(fd);

  work(10'000);
  sleep_ms(300);
  if (FILE* const file = std::fopen("daemon.done", "w"); file != nullptr) {
    std::fputs("x", file);
    std::fclose(file);
  }
  std::exit(5);
}

/// `count` programs one after the other in the same process.
int execute_in_turn(Arguments const& arguments, char const* name, long count) {
  work(3);
  long const done = arguments.number(0, 0);
  if (done < count) return execute_again(arguments, name, done + 1);
  std::printf("end %ld\n", done);
  return 9;
}

/// Children that make one event, or none, and end at once.
int fork_often(Arguments const& arguments, bool child_works) {
  work(10);
  int wrong = 0;
  auto const forks = static_cast<int>(arguments.number(0, 200));

  for (int i = 0; i < forks; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
      if (child_works) work(1);
      ::_exit(i & 1);
    }
    wrong += static_cast<int>(exit_of(child) != (i & 1));
  }

  std::printf("wrong %d\n", wrong);
  return 0;
}

void make_an_event() { work(1); }
void do_nothing() {}

/// What a child pays at least that needs another thread.
void wait_for_a_thread() {
  pthread_t thread{};
  ::pthread_create(
      &thread, nullptr, [](void* unused) { return unused; }, nullptr);
  ::pthread_join(thread, nullptr);
}

int fork_while_busy(Arguments const& arguments, int usual_forks, void (*in_child)()) {
  BusyThreads threads(kBusyThreads);
  int wrong = 0;
  auto const forks = static_cast<int>(arguments.number(0, usual_forks));

  for (int i = 0; i < forks; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
      in_child();
      ::_exit(i & 1);
    }
    wrong += static_cast<int>(exit_of(child) != (i & 1));
  }

  threads.stop();
  std::printf("wrong %d\n", wrong);
  return 0;
}

void push_payload() {
  int64_t const value = 3;
  nvtxPayloadData_t payload{};
  payload.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  payload.size = sizeof value;
  payload.payload = &value;
  nvtxRangePushPayload(nullptr, &payload, 1);
  nvtxRangePop();
}

/// Threads begin to use the payload extension, and so initialize it; the process is forked so many
/// µs later, and the child uses it, too.
int fork_while_payloads_begin(long after_us) {
  constexpr int kThreads = 2;
  static std::atomic<int> begun{0};
  std::array<pthread_t, kThreads> threads{};
  for (pthread_t& thread : threads)
    ::pthread_create(
        &thread, nullptr,
        [](void* unused) -> void* {
          begun.fetch_add(1);
          push_payload();
          return unused;
        },
        nullptr);
  while (begun.load() < kThreads) ::sched_yield();
  double const end = now_s() + static_cast<double>(after_us) * 1e-6;
  while (now_s() < end) {
  }

  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(5);
    push_payload();
    ::_exit(3);
  }
  int const code = exit_of(child);
  for (pthread_t const thread : threads) ::pthread_join(thread, nullptr);
  return code;
}

/// Prints no count of children that hang: alone one in some hundreds does, since NVTX knows nothing
/// of forks. Where recording makes its beginning long, so many hang that the case passes its time.
int fork_while_payloads_begin_often(Arguments const& arguments) {
  auto const rounds = static_cast<int>(arguments.number(0, 90));
  for (int i = 0; i < rounds; ++i) {
    pid_t const beginner = ::fork();
    if (beginner == 0) ::_exit(fork_while_payloads_begin(100 + 10 * i));
    exit_of(beginner);
  }
  return 0;
}

int fork_and_execute_while_busy(Arguments const& arguments) {
  BusyThreads threads(kBusyThreads);
  int wrong = 0;
  auto const forks = static_cast<int>(arguments.number(0, 100));

  for (int i = 0; i < forks; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", "exit 3", nullptr);
      ::_exit(99);
    }
    wrong += static_cast<int>(exit_of(child) != 3);
  }

  threads.stop();
  std::printf("wrong %d\n", wrong);
  return 0;
}

int vfork_often(Arguments const& /*unused*/) {
  work(10);
  int wrong = 0;

  for (int i = 0; i < 200; ++i) {
    pid_t child = ::vfork();
    if (child == 0) {
      ::execl("/bin/true", "true", nullptr);
      ::_exit(9);
    }
    wrong += static_cast<int>(exit_of(child) != 0);

    child = ::vfork();
    if (child == 0) ::_exit(7);
    wrong += static_cast<int>(exit_of(child) != 7);
  }

  work(1000);
  std::printf("wrong %d\n", wrong);
  return 0;
}

int spawn_often(Arguments const& /*unused*/) {
  work(10);
  int wrong = 0;

  for (int i = 0; i < 200; ++i) {
    pid_t child = 0;
    std::array<char*, 2> const arguments = {const_cast<char*>("true"), nullptr};
    ::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments.data(), environ);
    wrong += static_cast<int>(exit_of(child) != 0);
  }

  work(1000);
  std::printf("wrong %d\n", wrong);
  return 0;
}

int call_system(Arguments const& /*unused*/) {
  work(10);
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum += WEXITSTATUS(std::system("exit 1"));
  std::printf("%d\n", sum);
  return 0;
}

int call_popen(Arguments const& /*unused*/) {
  work(10);
  FILE* const pipe = ::popen("echo hi; exit 4", "r");
  std::array<char, 64> line{};
  if (std::fgets(line.data(), line.size(), pipe) == nullptr) return 1;
  int const status = ::pclose(pipe);
  std::printf("%s%d\n", line.data(), WEXITSTATUS(status));
  return 0;
}

/// A child that no fork handler knows of, as sandboxes and language runtimes make it.
int fork_by_system_call(Arguments const& /*unused*/) {
  work(10);
  int wrong = 0;

  for (int i = 0; i < 20; ++i) {
    auto const child =
        static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
      work(1000);
      ::_exit(6);
    }
    wrong += static_cast<int>(exit_of(child) != 6);
  }

  work(10);
  std::printf("wrong %d\n", wrong);
  return 0;
}

/// Only the thread that forks lives on in the child, which starts others.
int fork_in_thread(Arguments const& /*unused*/) {
  work(10);
  pthread_t thread{};
  auto const fork_here = [](void*) -> void* {
    work(10);
    pid_t const child = ::fork();
    if (child != 0) {
      std::printf("child %d\n", exit_of(child));
      return nullptr;
    }

    BusyThreads threads(2);
    work(1000);
    threads.stop();
    std::exit(21);
  };

  ::pthread_create(&thread, nullptr, fork_here, nullptr);
  ::pthread_join(thread, nullptr);
  return 0;
}

/// The last of a line of forks outlives all others and is waited for by none of them.
int fork_in_line(Arguments const& /*unused*/) {
  for (int i = 0; i < 5; ++i) {
    work(100);
    if (::fork() != 0) ::_exit(i);
  }
  work(100);
  return 30;
}

constexpr Case kCases[] = {
    {"daemon2", become_daemon},
    {"exec100",
     [](Arguments const& arguments) { return execute_in_turn(arguments, "exec100", 100); }},
    {"exec1000",
     [](Arguments const& arguments) { return execute_in_turn(arguments, "exec1000", 1000); }},
    {"fork_often", [](Arguments const& arguments) { return fork_often(arguments, true); }},
    {"fork_silent", [](Arguments const& arguments) { return fork_often(arguments, false); }},
    {"fork_busy",
     [](Arguments const& arguments) { return fork_while_busy(arguments, 200, make_an_event); }},
    {"fork_busy_silent",
     [](Arguments const& arguments) { return fork_while_busy(arguments, 50, do_nothing); }},
    {"fork_busy_thread",
     [](Arguments const& arguments) { return fork_while_busy(arguments, 50, wait_for_a_thread); }},
    {"fork_payloads", fork_while_payloads_begin_often},
    {"fork_exec_busy", fork_and_execute_while_busy},
    {"vfork", vfork_often},
    {"posix_spawn", spawn_often},
    {"system", call_system},
    {"popen", call_popen},
    {"raw_fork", fork_by_system_call},
    {"fork_thread", fork_in_thread},
    {"fork_line", fork_in_line}};

}  // namespace

Theme process_cases() { return {"processes", kCases}; }

}  // namespace stepscope::attacks
