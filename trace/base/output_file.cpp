#include "trace/base/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t const written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Expected<void> write_file_atomically(std::string const& path, std::string_view content) {
  std::string const beside = fmt::format("{}.{}.tmp", path, ::getpid());
  int const fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail("{}: cannot write ({}), choose another place", path, std::strerror(errno));
  bool good = write_all(fd, content);
  int reason = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && std::rename(beside.c_str(), path.c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (good) return {};
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return fail("{}: cannot write ({}), free disk space or choose another place", path, std::strerror(reason));
}

}  // namespace stepscope::base
