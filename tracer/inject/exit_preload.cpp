// libstepscope-exit.so, which `stepscope record` preloads into the programs that it starts. It
// notifies the tracer, where a process has loaded it, of three events. The process is about to end
// without exit handlers: by _exit, as forks of Python do, or by a signal that it sends itself. Or
// it executes another program (exec…): buffers then reach the file. Or it asks for what only a
// process of one thread gets (unshare, setns). Needs nothing but the C library; without a tracer it
// only passes on.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/inject/exit_hooks.h"

namespace {

using stepscope::tracer::ExitHooks;

std::atomic<ExitHooks const*> installed_hooks{nullptr};

pthread_key_t thread_key;

void thread_exits(void* value) {
  if (ExitHooks const* const hooks = installed_hooks.load(std::memory_order_acquire);
      hooks != nullptr)
    hooks->thread_exits(value);
}

/// The definition of a function behind ours: the C library's, or that of another preloaded library.
template <class Function>
class Next {
 public:
  explicit constexpr Next(char const* name) : name_(name) {}
  void find() { function_ = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_)); }
  Function* get() {
    if (function_ == nullptr) find();  // called before our constructor ran
    return function_;
  }

 private:
  char const* name_;
  Function* function_ = nullptr;
};

using Exit = void(int);
using Exec = int(char const*, char* const*);
using ExecWithEnvironment = int(char const*, char* const*, char* const*);

constinit Next<Exit> next_exit_now{"_exit"};
constinit Next<Exit> next_exit_now_c99{"_Exit"};
constinit Next<ExecWithEnvironment> next_execve{"execve"};
constinit Next<Exec> next_execv{"execv"};
constinit Next<Exec> next_execvp{"execvp"};
constinit Next<ExecWithEnvironment> next_execvpe{"execvpe"};
constinit Next<int(int, char* const*, char* const*)> next_fexecve{"fexecve"};
constinit Next<int(int)> next_unshare{"unshare"};
constinit Next<int(int, int)> next_setns{"setns"};
constinit Next<int(int)> next_raise{"raise"};
constinit Next<int(pid_t, int)> next_kill{"kill"};

/// Early, because dlsym() may not be called in a signal handler, where _exit() and execve() may.
__attribute__((constructor)) void find_all() {
  ::pthread_key_create(&thread_key, thread_exits);

  next_exit_now.find();
  next_exit_now_c99.find();
  next_execve.find();
  next_execv.find();
  next_execvp.find();
  next_execvpe.find();
  next_fexecve.find();
  next_unshare.find();
  next_setns.find();
  next_raise.find();
  next_kill.find();
}

void tell_signal() {
  if (ExitHooks const* const hooks = installed_hooks.load(std::memory_order_acquire);
      hooks != nullptr)
    hooks->before_signal();
}

void tell_end() {
  if (ExitHooks const* const hooks = installed_hooks.load(std::memory_order_acquire);
      hooks != nullptr)
    hooks->before_end();
}

[[noreturn]] void end_process(Next<Exit>& next, int status) {
  tell_end();
  if (Exit* const function = next.get(); function != nullptr) function(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

/// Signals that end a program which leaves them alone. Handlers that have cleaned up send theirs
/// again so, and the tracer's own cannot be in their place.
constexpr std::array kEndingSignals = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
                                       SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ};

bool ends_process(int signal) {
  if (::getpid() == 1) return false;  // of a container: it cannot end itself so
  if (signal == SIGKILL) return true;
  if (std::find(kEndingSignals.begin(), kEndingSignals.end(), signal) == kEndingSignals.end())
    return false;
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

bool is_own_process(pid_t process) {
  return process == ::getpid() || process == 0 || process == -::getpgrp();
}

bool is_program(char const* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
         ::faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/// As execvp() looks for it.
bool is_program_in_path(char const* file) {
  if (std::strchr(file, '/') != nullptr) return is_program(file);

  char const* const variable = std::getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/bin:/usr/bin";
  std::array<char, 4096>
      path{};  // no allocation: this may be a child that shares its parent's memory
  size_t const length = std::strlen(file);

  for (bool more = true; more;) {
    size_t const end = folders.find(':');
    std::string_view const folder = folders.substr(0, end);
    more = end != std::string_view::npos;
    if (more) folders.remove_prefix(end + 1);

    if (folder.size() + length + 2 > path.size()) continue;
    size_t at = folder.copy(path.data(), folder.size());
    if (at != 0) path[at++] = '/';
    std::memcpy(path.data() + at, file, length + 1);
    if (is_program(path.data())) return true;
  }
  return false;
}

/// Ends the capture when `call` will most likely execute something: programs try several places,
/// and go on when none has the file.
template <class IsLikely, class Call>
int execute(IsLikely const& is_likely, Call const& call) {
  ExitHooks const* const hooks = installed_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr || !is_likely()) return call();
  hooks->before_exec();
  int const result = call();
  int const error = errno;
  hooks->exec_failed();
  errno = error;
  return result;
}

template <class Function, class... Arguments>
int call(Next<Function>& next, Arguments... arguments) {
  if (Function* const function = next.get(); function != nullptr) return function(arguments...);
  errno = ENOSYS;
  return -1;
}

/// Only processes of one thread get namespaces of users, and only where no thread shares the
/// working folder do they get those of file systems. The rest are flags of clone() that ask for a
/// thread's leaving.
constexpr int kOnlyAlone = CLONE_NEWUSER | CLONE_NEWNS | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;

void be_alone() {
  if (ExitHooks const* const hooks = installed_hooks.load(std::memory_order_acquire);
      hooks != nullptr)
    hooks->be_alone();
}

/// Calls `call` with the list of an execl… function as an array: `first`, what `list` has up to its
/// null pointer, null. On the stack, as nothing may be allocated; `list` stands behind the null
/// pointer then.
template <class Call>
int with_arguments(char const* first, va_list* list, Call const& call) {
  size_t count = 1;

  if (first != nullptr) {
    va_list counted;
    va_copy(counted, *list);
    for (++count; va_arg(counted, char*) != nullptr;) ++count;
    va_end(counted);
  }

  auto* const arguments = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (size_t i = 1; i < count; ++i) arguments[i] = va_arg(*list, char*);

  return call(arguments);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void stepscope_set_exit_hooks(ExitHooks const* hooks) {
  installed_hooks.store(hooks, std::memory_order_release);
}

__attribute__((visibility("default"))) void stepscope_set_thread_value(void* value) {
  ::pthread_setspecific(thread_key, value);
}

__attribute__((visibility("default"))) void _exit(int status) {
  end_process(next_exit_now, status);
}
__attribute__((visibility("default"))) void _Exit(int status) noexcept {
  end_process(next_exit_now_c99, status);
}

__attribute__((visibility("default"))) int raise(int signal) noexcept {
  if (ends_process(signal)) tell_signal();
  return call(next_raise, signal);
}
__attribute__((visibility("default"))) int kill(pid_t process, int signal) noexcept {
  if (is_own_process(process) && ends_process(signal)) tell_signal();
  return call(next_kill, process, signal);
}

__attribute__((visibility("default"))) int execve(char const* path, char* const* arguments,
                                                  char* const* environment) noexcept {
  return execute([&] { return is_program(path); },
                 [&] { return call(next_execve, path, arguments, environment); });
}
__attribute__((visibility("default"))) int execv(char const* path,
                                                 char* const* arguments) noexcept {
  return execute([&] { return is_program(path); },
                 [&] { return call(next_execv, path, arguments); });
}
__attribute__((visibility("default"))) int execvp(char const* file,
                                                  char* const* arguments) noexcept {
  return execute([&] { return is_program_in_path(file); },
                 [&] { return call(next_execvp, file, arguments); });
}
__attribute__((visibility("default"))) int execvpe(char const* file, char* const* arguments,
                                                   char* const* environment) noexcept {
  return execute([&] { return is_program_in_path(file); },
                 [&] { return call(next_execvpe, file, arguments, environment); });
}
__attribute__((visibility("default"))) int fexecve(int fd, char* const* arguments,
                                                   char* const* environment) noexcept {
  return execute([] { return true; },
                 [&] { return call(next_fexecve, fd, arguments, environment); });
}

__attribute__((visibility("default"))) int unshare(int flags) noexcept {
  if ((flags & kOnlyAlone & ~CLONE_NEWNS) != 0) be_alone();
  return call(next_unshare, flags);
}
__attribute__((visibility("default"))) int setns(int fd, int kind) noexcept {
  if (kind == 0 || (kind & kOnlyAlone) != 0) be_alone();
  return call(next_setns, fd, kind);
}

__attribute__((visibility("default"))) int execl(char const* path, char const* first,
                                                 ...) noexcept {
  va_list list;
  va_start(list, first);
  int const result =
      with_arguments(first, &list, [&](char** arguments) { return execv(path, arguments); });
  va_end(list);
  return result;
}
__attribute__((visibility("default"))) int execlp(char const* file, char const* first,
                                                  ...) noexcept {
  va_list list;
  va_start(list, first);
  int const result =
      with_arguments(first, &list, [&](char** arguments) { return execvp(file, arguments); });
  va_end(list);
  return result;
}
__attribute__((visibility("default"))) int execle(char const* path, char const* first,
                                                  ...) noexcept {
  va_list list;
  va_start(list, first);
  int const result = with_arguments(first, &list, [&](char** arguments) {
    return execve(path, arguments, va_arg(list, char**));
  });
  va_end(list);
  return result;
}
}
