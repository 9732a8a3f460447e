// Memory that is locked, libraries that come and go, errno.
#include <cerrno>
#include <cstdio>
#include <string>

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

int lock_all_memory(Arguments const& /*unused*/) {
  ::mlockall(MCL_CURRENT | MCL_FUTURE);
  work(1000);
  std::puts("ok");
  return 0;
}

/// The library next to this program, which annotates through its own copy of NVTX.
class Library {
 public:
  explicit Library(Arguments const& arguments) {
    std::string path = arguments.program;
    path = path.substr(0, path.rfind('/') + 1) + "libattack_library.so";
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) std::puts(::dlerror());
  }
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(Library const&) = delete;
  Library& operator=(Library const&) = delete;

  template <class Function>
  Function* find(char const* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
};

/// Loads, annotates, unloads: names that the tracer keeps by address are gone after that.
int load_and_unload(Arguments const& arguments) {
  for (int i = 0; i < 50; ++i) {
    Library const library(arguments);
    auto* const push = library.find<void(char const*)>("attack_push");
    auto* const pop = library.find<void()>("attack_pop");
    if (push == nullptr || pop == nullptr) return 1;

    push("loaded");
    pop();
  }
  std::puts("ok");
  return 0;
}

int unload_with_open_ranges(Arguments const& arguments) {
  for (int i = 0; i < 50; ++i) {
    Library const library(arguments);
    auto* const push = library.find<void(char const*)>("attack_push");
    if (push == nullptr) return 1;
    push(("name " + std::to_string(i)).c_str());
  }
  std::puts("ok");
  return 0;
}

int keep_errno(Arguments const& /*unused*/) {
  constexpr int kMine = 1234;
  int wrong = 0;

  for (int i = 0; i < 100'000; ++i) {
    errno = kMine;
    nvtxRangePushA("x");
    nvtxMarkA("y");
    nvtxRangePop();
    if (errno != kMine && wrong++ == 0) std::fprintf(stderr, "errno became %d at %d\n", errno, i);
  }

  std::printf("wrong %d\n", wrong);
  return 0;
}

/// A library with a copy of NVTX of its own is opened after a fork; the child, which never opened
/// it, waits and yields.
int open_after_fork(Arguments const& arguments) {
  work(3);
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  pid_t const child = ::fork();
  if (child == 0) {
    char sign = 0;
    if (::read(ends[0], &sign, 1) != 1) ::_exit(9);
    for (int i = 0; i < 1000; ++i) ::sched_yield();
    ::_exit(5);
  }

  Library const library(arguments);
  if (auto* const push = library.find<void(char const*)>("attack_push"); push != nullptr)
    push("late");
  if (::write(ends[1], "x", 1) != 1) return 1;
  std::printf("child %d\n", exit_of(child));
  return 0;
}

constexpr Case kCases[] = {{"mlockall", lock_all_memory},
                           {"dlopen", load_and_unload},
                           {"dlopen_open", unload_with_open_ranges},
                           {"open_after_fork", open_after_fork},
                           {"errno", keep_errno}};

}  // namespace

Theme memory_cases() { return {"memory", kCases}; }

}  // namespace stepscope::attacks
