// Preloaded into one process: stops it (SIGSTOP) in the middle of its output, so that a test can
// kill it there, or let another command pass, without waiting for luck. STEPSCOPE_TEST_STOP is the
// number of that process; STEPSCOPE_TEST_STOP_AT is "write" (before the first bytes of an output)
// or "name" (before the first output gets its name).
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

/// Less is what a lock file says of its holder.
constexpr size_t kFewestBytes = 100;

void stop_once_at(char const* place) {
  static bool has_stopped = false;
  char const* const process = ::getenv("STEPSCOPE_TEST_STOP");
  char const* const wanted = ::getenv("STEPSCOPE_TEST_STOP_AT");
  if (has_stopped || process == nullptr || wanted == nullptr) return;
  if (std::strcmp(place, wanted) != 0 || std::atol(process) != ::getpid()) return;
  has_stopped = true;
  ::raise(SIGSTOP);
}

void stop_at_write(int fd, size_t size) {
  struct stat status {};
  if (size >= kFewestBytes && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    stop_once_at("write");
}

template <class Function>
Function real(char const* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define STEPSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))

STEPSCOPE_EXPORTED int rename(char const* from, char const* to) {
  stop_once_at("name");
  return real<int (*)(char const*, char const*)>("rename")(from, to);
}

STEPSCOPE_EXPORTED int linkat(int from_folder, char const* from, int to_folder, char const* to,
                              int flags) {
  stop_once_at("name");
  return real<int (*)(int, char const*, int, char const*, int)>("linkat")(from_folder, from,
                                                                          to_folder, to, flags);
}

STEPSCOPE_EXPORTED ssize_t write(int fd, void const* bytes, size_t size) {
  stop_at_write(fd, size);
  return real<ssize_t (*)(int, void const*, size_t)>("write")(fd, bytes, size);
}

/// What SQLite uses.
STEPSCOPE_EXPORTED ssize_t pwrite64(int fd, void const* bytes, size_t size, off64_t at) {
  stop_at_write(fd, size);
  return real<ssize_t (*)(int, void const*, size_t, off64_t)>("pwrite64")(fd, bytes, size, at);
}
