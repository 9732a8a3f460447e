// attack_program CASE [NUMBER…] runs one case; attack_program --list prints a line a case: theme,
// name, needs.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {

long Arguments::number(size_t index, long otherwise) const {
  return index < words.size() ? std::atol(words[index]) : otherwise;
}

void work(int ranges) {
  for (int i = 0; i < ranges; ++i) {
    nvtxRangePushA("work");
    nvtxRangePop();
  }
}

void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

double now_s() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void set_limit(int resource, rlim_t value) {
  rlimit const limit = {value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

void become_nobody() {
  constexpr uid_t kNobody = 65534;
  if (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0)
    std::perror("setresuid");
}

int execute_again(Arguments const& arguments, char const* name, long number) {
  std::string word = std::to_string(number);
  std::array<char*, 4> const list = {const_cast<char*>(arguments.program), const_cast<char*>(name),
                                     word.data(), nullptr};
  ::execv("/proc/self/exe", list.data());
  return 1;
}

int exit_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

namespace {

std::atomic<bool> stop_busy_threads{false};

void* be_busy(void* /*unused*/) {
  while (!stop_busy_threads) work(1);
  return nullptr;
}

std::array<Theme, 12> all_themes() {
  return {descriptor_cases(), ending_cases(), fault_cases(),   limit_cases(),
          memory_cases(),     name_cases(),   process_cases(), sandbox_cases(),
          sharing_cases(),    signal_cases(), thread_cases(),  time_cases()};
}

int list_cases() {
  for (Theme const& theme : all_themes())
    for (Case const& one : theme.cases)
      std::printf("%s %s %s\n", theme.name, one.name,
                  one.needs == Needs::kRoot ? "root" : "nothing");
  return 0;
}

}  // namespace

BusyThreads::BusyThreads(int count) : count_(count < kMost ? count : kMost) {
  for (int i = 0; i < count_; ++i) ::pthread_create(&threads_[i], nullptr, be_busy, nullptr);
}

void BusyThreads::stop() {
  stop_busy_threads = true;
  for (int i = 0; i < count_; ++i) ::pthread_join(threads_[i], nullptr);
}

}  // namespace stepscope::attacks

int main(int argc, char** argv) {
  using namespace stepscope::attacks;
  std::string_view const name = argc > 1 ? argv[1] : "";
  if (name == "--list") return list_cases();
  for (Theme const& theme : all_themes())
    for (Case const& one : theme.cases)
      if (name == one.name)
        return one.run({argv[0], name, {argv + 2, static_cast<size_t>(argc - 2)}});
  std::fprintf(stderr, "attack_program: no case %s, --list prints them\n", argc > 1 ? argv[1] : "");
  return 2;
}
