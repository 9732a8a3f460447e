// Programs that give rights away: seccomp, chroot, another user, name spaces.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

/// In this thread and those that it starts, these system calls end as `action` says.
void deny(std::initializer_list<uint32_t> calls, uint32_t action) {
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (uint32_t const call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));

  sock_fprog const program = {static_cast<unsigned short>(filter.size()), filter.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::perror("seccomp");
}

void write_out(char const* text, size_t length) {
  if (::write(STDOUT_FILENO, text, length) < 0) std::perror("write");
}

/// Only read, write and exit are left; the exit is that of the only thread.
int strict_mode(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(50);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  write_out("strict\n", 7);
  ::syscall(SYS_exit, 4);
  return 1;
}

/// As a sandbox that starts after its program is set up: an event may open nothing and change no
/// handler.
int filter_after_first_event(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(50);
  deny({SYS_openat, SYS_mprotect, SYS_rt_sigaction}, SECCOMP_RET_KILL_PROCESS);
  work(300'000);
  write_out("ok\n", 3);
  ::_exit(6);
}

int filter_before_first_event(Arguments const& /*unused*/) {
  deny({SYS_openat, SYS_clone3, SYS_clone}, SECCOMP_RET_ERRNO | EPERM);
  work(1000);
  std::puts("ok");
  return 6;
}

/// Into an empty folder of the case, where nothing may appear.
void enter_empty_root() {
  ::mkdir("root", 0755);
  if (::chroot("root") != 0 || ::chdir("/") != 0) std::perror("chroot");
}

int change_root(Arguments const& /*unused*/) {
  work(10);
  enter_empty_root();
  work(10'000);
  sleep_ms(600);
  std::puts("ok");
  return 0;
}

int change_root_before_first_event(Arguments const& /*unused*/) {
  enter_empty_root();
  work(10'000);
  std::puts("ok");
  return 0;
}

int change_user(Arguments const& /*unused*/) {
  work(10);
  become_nobody();
  work(10'000);
  sleep_ms(600);
  std::puts("ok");
  return 0;
}

int change_user_before_first_event(Arguments const& /*unused*/) {
  become_nobody();
  work(10'000);
  std::puts("ok");
  return 0;
}

/// The C library changes the user of every thread, the tracer's as well.
int change_user_of_threads(Arguments const& /*unused*/) {
  BusyThreads threads(1);
  work(10);
  if (::setresgid(65534, 65534, 65534) != 0) std::perror("setresgid");
  std::printf("setuid %d\n", ::setuid(65534));
  sleep_ms(100);
  threads.stop();
  return 0;
}

int become_untraceable(Arguments const& /*unused*/) {
  ::prctl(PR_SET_DUMPABLE, 0);
  work(1000);
  std::puts("ok");
  return 0;
}

/// Linux allows a new user name space only to a process that has one thread.
int new_name_spaces(Arguments const& /*unused*/) {
  work(10);
  int const result = ::unshare(CLONE_NEWUSER | CLONE_NEWNS);
  std::printf("unshare %d\n", result);
  return 0;
}

/// Pages of addresses that the process has.
long address_pages() {
  long pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages;
}

/// Each of these calls is for a process of one thread; between them it makes events. It takes no
/// more addresses each time.
int be_alone_often(Arguments const& /*unused*/) {
  constexpr int kFirst = 5, kRounds = 40;
  constexpr long kMostPages = (8L << 20) / 4096;
  int failed = 0;
  long pages = 0;

  for (int round = 0; round < kRounds; ++round) {
    work(10);
    failed += static_cast<int>(::unshare(CLONE_VM) != 0);
    if (round == kFirst) pages = address_pages();
  }

  long const grown = address_pages() - pages;
  std::printf("failed %d, %s\n", failed, grown > kMostPages ? "grows" : "stays");
  if (grown > kMostPages) std::printf("%ld pages\n", grown);
  return 0;
}

constexpr Case kCases[] = {{"unshare_often", be_alone_often},
                           {"seccomp_strict", strict_mode},
                           {"seccomp_nofutex", filter_after_first_event},
                           {"seccomp_before", filter_before_first_event},
                           {"chroot", change_root, Needs::kRoot},
                           {"chroot_before", change_root_before_first_event, Needs::kRoot},
                           {"uid", change_user, Needs::kRoot},
                           {"uid_before", change_user_before_first_event, Needs::kRoot},
                           {"setuid_threads", change_user_of_threads, Needs::kRoot},
                           {"ptrace_off", become_untraceable},
                           {"unshare", new_name_spaces}};

}  // namespace

Theme sandbox_cases() { return {"sandbox", kCases}; }

}  // namespace stepscope::attacks
