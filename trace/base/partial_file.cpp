#include "trace/base/partial_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

tl::unexpected<Error> cannot_write(std::string const& path, int reason) {
  return fail("{}: cannot write ({}), free disk space or choose another place", path, std::strerror(reason));
}

}  // namespace

Expected<PartialFile> PartialFile::create(std::string path) {
  std::error_code ignored;
  if (path.empty()) return fail("no file was named, give one with -o");
  if (path.back() == '/' || std::filesystem::is_directory(path, ignored))
    return fail("{}: is a folder, name a file with -o", path);
  PartialFile file(std::move(path));
  file.beside_ = fmt::format("{}.{}.tmp", file.path_, ::getpid());
  file.fd_ = ::open(file.beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.fd_ < 0) return fail("{}: cannot write ({}), choose another place", file.path_, std::strerror(errno));
  return file;
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_written_(other.bytes_written_) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  path_ = std::move(other.path_);
  beside_ = std::move(other.beside_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_written_ = other.bytes_written_;
  return *this;
}

PartialFile::~PartialFile() { abandon(); }

void PartialFile::abandon() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  ::unlink(beside_.c_str());
}

Expected<void> PartialFile::write(std::string_view bytes) {
  bytes_written_ += bytes.size();
  while (!bytes.empty()) {
    ssize_t const written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path_, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Expected<void> PartialFile::finish() {
  // Some file systems tell only here that the disk is full.
  if (::close(std::exchange(fd_, -1)) != 0 || std::rename(beside_.c_str(), path_.c_str()) != 0) {
    int const reason = errno;
    ::unlink(beside_.c_str());
    return cannot_write(path_, reason);
  }
  return {};
}

}  // namespace stepscope::base
