#include "trace/base/partial_file.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

tl::unexpected<Error> cannot_write(std::string const& path, int reason) {
  return fail("{}: cannot write ({}), free disk space or choose another place", path, std::strerror(reason));
}

/// Of a name for one of this process's own: /dev/stdout, or /dev/fd/63, which a shell makes of >(CMD).
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (std::string_view const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    path.remove_prefix(folder.size());
    int number = 0;
    auto const [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    if (error == std::errc() && end == path.data() + path.size()) return number;
  }
  return {};
}

/// A device or a pipe takes what it is given, and must not be replaced by a file.
bool takes_bytes_itself(std::string const& path) {
  std::error_code ignored;
  auto const status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

Expected<PartialFile> PartialFile::create(std::string path) {
  std::error_code error;
  if (path.empty()) return fail("no file was named, give one with -o");
  if (path.back() == '/' || std::filesystem::is_directory(path, error)) return fail("{}: is a folder, name a file", path);
  PartialFile file(std::move(path));
  if (auto const own = own_descriptor(file.path_)) {
    file.fd_ = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
  } else if (takes_bytes_itself(file.path_)) {
    file.fd_ = ::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // A link stays, and what it leads to is replaced.
    auto const place = std::filesystem::canonical(file.path_, error);
    file.target_ = error ? file.path_ : place.string();
    file.beside_ = fmt::format("{}.{}.tmp", file.target_, ::getpid());
    file.fd_ = ::open(file.beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  }
  if (file.fd_ < 0) return fail("{}: cannot write ({}), choose another place", file.path_, std::strerror(errno));
  return file;
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      beside_(std::move(other.beside_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_written_(other.bytes_written_) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  beside_ = std::move(other.beside_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_written_ = other.bytes_written_;
  return *this;
}

PartialFile::~PartialFile() { abandon(); }

void PartialFile::abandon() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  if (!beside_.empty()) ::unlink(beside_.c_str());
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
  bool const closed = ::close(std::exchange(fd_, -1)) == 0;
  if (closed && (beside_.empty() || std::rename(beside_.c_str(), target_.c_str()) == 0)) return {};
  int const reason = errno;
  if (!beside_.empty()) ::unlink(beside_.c_str());
  return cannot_write(path_, reason);
}

}  // namespace stepscope::base
