#include "tracer/core/threads/private_descriptors.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

constexpr unsigned kUnshareFirst = 2;  // CLOSE_RANGE_UNSHARE; older headers lack it
#ifdef SYS_close_range
constexpr long kCloseRange = SYS_close_range;
#else
constexpr long kCloseRange = 436;  // on every architecture
#endif

/// All but `kept`. The first range closes what a table of our own need not even copy.
bool close_all(int kept, unsigned flags) {
  auto const first = static_cast<unsigned>(kept + 1);
  if (::syscall(kCloseRange, first, UINT_MAX, flags) != 0) return false;
  return kept <= 0 || ::syscall(kCloseRange, 0U, static_cast<unsigned>(kept - 1), 0U) == 0;
}

/// Before Linux 5.9. Raw calls: sanitizers must not believe that these are the program's
/// descriptors.
void close_one_by_one(int kept) {
  DIR* const list = ::opendir("/proc/thread-self/fd");
  if (list == nullptr) {
    for (long fd = ::sysconf(_SC_OPEN_MAX); fd >= 0; --fd) {
      if (fd != kept) ::syscall(SYS_close, static_cast<int>(fd));
    }
    return;
  }
  while (dirent const* const entry = ::readdir(list)) {
    std::string_view const name = entry->d_name;
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0 && fd != kept && fd != ::dirfd(list)) ::syscall(SYS_close, fd);
  }
  ::closedir(list);
}

}  // namespace

base::Expected<void> take_private_descriptors(int kept) {
  // Both at once: no descriptor of the program behind `kept` is copied, so none has to be closed
  // again.
  if (close_all(kept, kUnshareFirst)) return {};
  if (::unshare(CLONE_FILES) != 0)
    return base::fail(
        "the system gives the tracer no descriptors of its own ({}), allow close_range or unshare "
        "in its sandbox",
        std::strerror(errno));
  if (!close_all(kept, 0)) close_one_by_one(kept);
  return {};
}

}  // namespace stepscope::tracer
