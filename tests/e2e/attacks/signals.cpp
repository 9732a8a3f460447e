// Signals that arrive while events are made, and what a program sees of its signals.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

void mark_in_handler(int /*signal*/) { nvtxMarkA("in signal"); }

void set_timer(suseconds_t period_us) {
  itimerval const timer = {{0, period_us}, {0, period_us}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void do_nothing(int /*signal*/) {}

/// The period of a timer, at least `wanted_us`: machines exist on which a signal takes as long as
/// that, and a program would get no further.
suseconds_t bearable_period(suseconds_t wanted_us) {
  constexpr int kSignals = 200, kPartOfTime = 20;
  std::signal(SIGALRM, do_nothing);

  double const begin = now_s();
  for (int i = 0; i < kSignals; ++i) std::raise(SIGALRM);
  double const one_us = (now_s() - begin) * 1e6 / kSignals;
  return std::max(wanted_us, static_cast<suseconds_t>(kPartOfTime * one_us));
}

int storm(Arguments const& /*unused*/) {
  suseconds_t const period = bearable_period(100);
  std::signal(SIGALRM, mark_in_handler);
  set_timer(period);
  for (double const end = now_s() + 0.5; now_s() < end;) work(100);
  set_timer(0);
  std::puts("ok");
  return 0;
}

/// Signals from before the first event, which starts the tracer.
int storm_at_first_event(Arguments const& /*unused*/) {
  suseconds_t const period = bearable_period(50);
  std::signal(SIGALRM, mark_in_handler);
  set_timer(period);
  work(100);
  set_timer(0);
  std::puts("ok");
  return 0;
}

void* make_one_range(void* /*unused*/) {
  work(1);
  return nullptr;
}

/// A signal hits each thread while it makes its first event.
int storm_at_attach(Arguments const& arguments) {
  std::signal(SIGUSR1, mark_in_handler);
  for (long round = arguments.number(0, 2000); round > 0; --round) {
    pthread_t thread{};
    ::pthread_create(&thread, nullptr, make_one_range, nullptr);
    ::pthread_kill(thread, SIGUSR1);
    ::pthread_join(thread, nullptr);
  }
  std::puts("ok");
  return 0;
}

/// Several signals hit each thread, at moments that differ from round to round.
int storm_at_attach_at_all_moments(Arguments const& arguments) {
  constexpr int kSignals = 6, kLongestPause = 4000;
  nvtxMarkA("first");
  sleep_ms(20);

  struct sigaction action {};
  action.sa_handler = mark_in_handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);

  auto const rounds = static_cast<int>(arguments.number(0, 2000));
  for (int round = 0; round < rounds; ++round) {
    pthread_t thread{};
    ::pthread_create(&thread, nullptr, make_one_range, nullptr);
    for (int i = 0; i < kSignals; ++i) {
      ::pthread_kill(thread, SIGUSR1);
      int volatile pause = (round * 37 + i * 101) % kLongestPause;
      while (pause > 0) pause = pause - 1;
    }
    ::pthread_join(thread, nullptr);
  }

  std::puts("ok");
  return 0;
}

int cpu_time_runs_out(Arguments const& /*unused*/) {
  work(10);
  rlimit const limit = {1, 5};
  ::setrlimit(RLIMIT_CPU, &limit);
  for (;;) work(10'000);
}

/// Programs that wait for any child must not find one of the tracer.
int wait_for_any_child(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(50);
  int status = 0;
  pid_t const child = ::waitpid(-1, &status, WNOHANG);
  std::printf("waitpid %d %s\n", child, errno == ECHILD ? "no child" : "");
  return 0;
}

void print_signal_state(char const* where) {
  FILE* const status = std::fopen("/proc/self/status", "r");
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr)
    for (std::string_view const field : {"SigPnd", "ShdPnd", "SigBlk", "SigIgn"})
      if (std::string_view(line).starts_with(field)) std::printf("%s %s", where, line);
  std::fclose(status);
  std::fflush(stdout);
}

/// Blocked, ignored and waiting signals: at the start, with events, in a fork and after exec, which
/// inherits them.
int signal_state(Arguments const& arguments) {
  if (arguments.number(0, 0) == 1) {
    print_signal_state("executed");
    return 0;
  }

  print_signal_state("start");
  std::signal(SIGUSR2, SIG_IGN);
  work(10);
  print_signal_state("events");

  if (pid_t const child = ::fork(); child == 0) {
    work(10);
    print_signal_state("fork");
    ::_exit(execute_again(arguments, "signal_state", 1));
  } else if (exit_of(child) != 0) {
    return 1;
  }
  return 0;
}

pid_t volatile handled_in = 0;

/// A signal to the process waits while its only thread blocks it: no thread of the tracer may take
/// it.
int wait_while_blocked(Arguments const& /*unused*/) {
  std::signal(SIGUSR1, [](int) { handled_in = ::gettid(); });
  work(10);
  sleep_ms(20);

  sigset_t one{};
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  int waited = 0, in_this_thread = 0;

  for (int i = 0; i < 100; ++i) {
    ::sigprocmask(SIG_BLOCK, &one, nullptr);
    handled_in = 0;
    ::kill(::getpid(), SIGUSR1);
    work(10);
    ::usleep(100);

    sigset_t waiting{};
    ::sigpending(&waiting);
    waited += sigismember(&waiting, SIGUSR1);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    in_this_thread += static_cast<int>(handled_in == ::gettid());
  }

  std::printf("waited %d, in this thread %d\n", waited, in_this_thread);
  return 0;
}

/// One thread waits for what all others block, as servers have it.
int wait_in_thread(Arguments const& /*unused*/) {
  static sigset_t two;
  sigemptyset(&two);
  sigaddset(&two, SIGUSR1);
  sigaddset(&two, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &two, nullptr);
  work(10);

  pthread_t thread{};
  auto const wait = [](void*) -> void* {
    int signal = 0, heard = 0;
    while (::sigwait(&two, &signal) == 0 && signal != SIGTERM) ++heard;
    std::printf("heard %s\n", heard > 0 ? "some" : "none");
    return nullptr;
  };
  ::pthread_create(&thread, nullptr, wait, nullptr);

  for (int i = 0; i < 100; ++i) {
    ::kill(::getpid(), SIGUSR1);
    work(10);
    ::usleep(100);
  }
  ::kill(::getpid(), SIGTERM);
  ::pthread_join(thread, nullptr);
  return 0;
}

/// Some programs look whether a fault is handled already, before they install a handler of their
/// own.
int find_handlers(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(20);

  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0) continue;
    char const* state = "handled";
    if (now.sa_handler == SIG_DFL) state = "default";
    if (now.sa_handler == SIG_IGN) state = "ignored";
    std::printf("%s: %s\n", ::sigabbrev_np(signal), state);
  }
  return 0;
}

struct sigaction action_before {};

/// A handler that hands the fault on to what was there before it.
int hand_fault_on(Arguments const& /*unused*/) {
  work(10);
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    [[maybe_unused]] ssize_t const written = ::write(STDOUT_FILENO, "fault\n", 6);
    ::sigaction(signal, &action_before, nullptr);
  };
  ::sigaction(SIGSEGV, &action, &action_before);

  int volatile* volatile nowhere = nullptr;
  *nowhere = 1;
  return 0;
}

/// A launcher has put something else into LD_PRELOAD: the tracer's own preloaded library is opened
/// late then.
int lose_preload(Arguments const& arguments) {
  if (arguments.number(0, 0) == 0) {
    ::unsetenv("LD_PRELOAD");
    return execute_again(arguments, "preload_lost", 1);
  }
  work(3);

  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  int blocked = 0;
  for (int signal = 1; signal < 32; ++signal) blocked += sigismember(&mask, signal);
  std::printf("blocked %d\n", blocked);
  return 0;
}

/// Handlers leave by a jump, wherever they interrupted the thread: in the midst of an event, too.
sigjmp_buf jump_target;
int jump_out_of_events(Arguments const& /*unused*/) {
  struct sigaction action {};
  action.sa_handler = [](int) { ::siglongjmp(jump_target, 1); };
  ::sigaction(SIGALRM, &action, nullptr);

  for (int round = 0; round < 100; ++round) {
    itimerval const soon = {{0, 0}, {0, 500}};
    if (sigsetjmp(jump_target, 1) != 0) continue;
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    for (;;) work(1);
  }

  std::puts("end");
  return 0;
}

/// A forked child whose first event is interrupted by a handler that leaves by a jump. Threads that
/// come later annotate, too.
int jump_out_of_first_event(Arguments const& arguments) {
  work(1);
  struct sigaction action {};
  action.sa_handler = [](int) { ::siglongjmp(jump_target, 1); };
  ::sigaction(SIGALRM, &action, nullptr);

  int wrong = 0;
  for (long round = arguments.number(0, 60); round > 0; --round) {
    pid_t const child = ::fork();
    if (child == 0) {
      itimerval const soon = {{0, 0}, {0, round * 17}};
      if (sigsetjmp(jump_target, 1) == 0) {
        ::setitimer(ITIMER_REAL, &soon, nullptr);
        for (;;) work(1);
      }

      pthread_t thread{};
      ::pthread_create(&thread, nullptr, make_one_range, nullptr);
      ::pthread_join(thread, nullptr);
      work(1);
      ::_exit(3);
    }
    wrong += static_cast<int>(exit_of(child) != 3);
  }

  std::printf("wrong %d\n", wrong);
  return 0;
}

/// The same for the first event of a thread, and for what takes locks in a tracer.
std::atomic<bool> has_jump_target{false};
void* annotate_after_jump(void* /*unused*/) {
  if (sigsetjmp(jump_target, 1) == 0) {
    has_jump_target = true;
    for (;;) {
      work(1);
      nvtxDomainRegisterStringA(nullptr, "interrupted");
      nvtxNameOsThreadA(static_cast<uint32_t>(::gettid()), "interrupted");
    }
  }

  work(1);
  nvtxDomainRegisterStringA(nullptr, "after");
  return nullptr;
}

int jump_out_of_locks(Arguments const& /*unused*/) {
  constexpr int kThreads = 300, kLongestPauseUs = 300;
  work(1);

  struct sigaction action {};
  action.sa_handler = [](int) { ::siglongjmp(jump_target, 1); };
  ::sigaction(SIGUSR1, &action, nullptr);

  for (int i = 0; i < kThreads; ++i) {
    has_jump_target = false;
    pthread_t thread{};
    ::pthread_create(&thread, nullptr, annotate_after_jump, nullptr);
    while (!has_jump_target) ::sched_yield();

    ::usleep(static_cast<useconds_t>(i * 37 % kLongestPauseUs));
    ::pthread_kill(thread, SIGUSR1);
    ::pthread_join(thread, nullptr);
    work(1);
    nvtxDomainRegisterStringA(nullptr, "main");
  }

  std::puts("end");
  return 0;
}

constexpr Case kCases[] = {{"signal_jump_first", jump_out_of_first_event},
                           {"signal_jump_locks", jump_out_of_locks},
                           {"sig_storm", storm},
                           {"sig_first", storm_at_first_event},
                           {"sig_attach", storm_at_attach},
                           {"signal_attach", storm_at_attach_at_all_moments},
                           {"sigxcpu", cpu_time_runs_out},
                           {"sigchld", wait_for_any_child},
                           {"signal_state", signal_state},
                           {"signal_blocked", wait_while_blocked},
                           {"sigwait", wait_in_thread},
                           {"handlers", find_handlers},
                           {"preload_lost", lose_preload},
                           {"signal_jump", jump_out_of_events},
                           {"handler_chain", hand_fault_on}};

}  // namespace

Theme signal_cases() { return {"signals", kCases}; }

}  // namespace stepscope::attacks
