#include "trace/base/files/partial_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "trace/base/files/temporary.h"
#include "trace/base/files/unfinished.h"

namespace stepscope::base {
namespace {

tl::unexpected<Error> cannot_write(std::string const& path, int reason) {
  return fail("{}: cannot write ({}), free disk space or choose another place", path,
              std::strerror(reason));
}

/// The descriptor behind a name for one of this process's own: /dev/stdout, or /dev/fd/63, which a
/// shell makes of >(CMD).
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

bool is_folder_itself(std::string const& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(std::filesystem::symlink_status(path, ignored));
}

/// A link that leads nowhere is replaced.
std::string behind_links(std::string const& path) {
  std::error_code error;
  auto const place = std::filesystem::canonical(path, error);
  return error ? path : place.string();
}

std::string descriptor_name(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

/// Without /proc a file without a name can never get one.
bool has_descriptor_names() { return ::access("/proc/self/fd", X_OK) == 0; }

}  // namespace

Expected<PartialFile> PartialFile::create(std::string path, Links links, Nameless nameless) {
  std::error_code error;
  if (path.empty()) return fail("no file was named, give one with -o");
  bool const follows = links == Links::kFollow;
  if (path.back() == '/' ||
      (follows ? std::filesystem::is_directory(path, error) : is_folder_itself(path)))
    return fail("{}: is a folder, name a file", path);

  PartialFile file(std::move(path));
  if (auto const own = own_descriptor(file.path_); own && follows) {
    file.fd_ = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
  } else if (follows && takes_bytes_itself(file.path_)) {
    file.fd_ = ::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.target_ = follows ? behind_links(file.path_) : file.path_;
    file.open_temporary(nameless);
  }
  if (file.fd_ < 0)
    return fail("{}: cannot write ({}), choose another place", file.path_, std::strerror(errno));
  return file;
}

void PartialFile::open_temporary(Nameless nameless) {
  std::string const folder = folder_of(target_);

  remove_leftovers(folder);
  if (nameless == Nameless::kWherePossible && has_descriptor_names()) {
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd_ >= 0) return;
  }

  TemporaryFile made = make_temporary_file(folder);
  int const reason = errno;
  fd_ = made.fd;
  if (fd_ >= 0) beside_ = std::move(made.path);
  beside_name_ = std::move(made.name);

  errno = reason;
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      beside_(std::move(other.beside_)),
      beside_name_(std::move(other.beside_name_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_written_(other.bytes_written_) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  beside_ = std::move(other.beside_);
  beside_name_ = std::move(other.beside_name_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_written_ = other.bytes_written_;
  return *this;
}

PartialFile::~PartialFile() { abandon(); }

void PartialFile::abandon() {
  beside_name_.remove();  // while it is locked
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Expected<void> PartialFile::write(std::string_view bytes) {
  bytes_written_ += bytes.size();
  return write_all(bytes);
}

Expected<void> PartialFile::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path_, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

/// For a file without a name: gives it the target's, or, where a file has that, a temporary one.
Expected<void> PartialFile::name_it() {
  std::string const open_file = descriptor_name(fd_);
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    target_.clear();
    return {};
  }
  if (errno != EEXIST) return copy_to_named();

  beside_ = fmt::format("{}/{}", folder_of(target_), temporary_name());
  beside_name_ = Unfinished(beside_, Unfinished::Kind::kFile);
  ::flock(fd_, LOCK_EX | LOCK_NB);
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return {};
  return cannot_write(path_, errno);
}

/// Some file systems make files without a name and then give them none.
Expected<void> PartialFile::copy_to_named() {
  TemporaryFile made = make_temporary_file(folder_of(target_));
  if (made.fd < 0) return cannot_write(path_, errno);
  int const from = std::exchange(fd_, made.fd);
  beside_ = std::move(made.path);
  beside_name_ = std::move(made.name);

  std::array<char, 1U << 16U> buffer{};
  off_t at = 0;
  Expected<void> copied;
  for (ssize_t got = 0; copied && (got = ::pread(from, buffer.data(), buffer.size(), at)) > 0;
       at += got)
    copied = write_all({buffer.data(), static_cast<size_t>(got)});
  ::close(from);
  if (copied && static_cast<uint64_t>(at) != bytes_written_) return cannot_write(path_, EIO);
  return copied;
}

Expected<void> PartialFile::finish() {
  // A signal may reach another thread first: from where that thread sees it, nothing gets a name.
  HeldSignals const held;

  if (!target_.empty() && beside_.empty())
    if (auto const named = name_it(); !named) return named;

  // The lock goes with the last descriptor: until the file has its place another command must not
  // take it for a leftover.
  int const lock = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  // Some file systems tell only here that the disk is full.
  bool is_good = ::close(std::exchange(fd_, -1)) == 0;
  if (is_good && !target_.empty()) is_good = std::rename(beside_.c_str(), target_.c_str()) == 0;
  int const reason = errno;
  if (is_good) beside_name_.keep();
  beside_name_.remove();
  if (lock >= 0) ::close(lock);
  if (is_good) return {};
  return cannot_write(path_, reason);
}

}  // namespace stepscope::base
