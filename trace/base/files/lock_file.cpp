#include "trace/base/files/lock_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/temporary.h"
#include "trace/base/format.h"
#include "trace/base/host_name.h"

namespace stepscope::base {
namespace {

constexpr std::chrono::milliseconds kPause{5};
constexpr size_t kMostHolderBytes = 200;
/// Names of files have at most 255 bytes.
constexpr size_t kMostNameBytes = 200;

bool is_named(int fd, std::string const& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// A pipe, or a file that has a second name elsewhere, was planted: writing into it would damage
/// somebody's file.
bool is_planted(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1;
}

std::string holder_of(int fd) {
  std::array<char, kMostHolderBytes> text{};
  ssize_t const size = ::pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return "another command";
  return printable(valid_utf8({text.data(), static_cast<size_t>(size)}, kMostHolderBytes));
}

void write_holder(int fd) {
  std::string const host = host_name();
  std::string const holder =
      fmt::format("process {} on {}", ::getpid(), host.empty() ? "this host" : host);
  if (::ftruncate(fd, 0) != 0) return;
  [[maybe_unused]] ssize_t const ignored =
      ::pwrite(fd, holder.data(), holder.size(), 0);  // only for the message of others
}

}  // namespace

std::string LockFile::path_beside(std::string const& output) {
  std::filesystem::path const path = output;
  std::string const name = (path.has_filename() ? path : path.parent_path()).filename().string();
  std::filesystem::path const whole = path.has_filename() ? path : path.parent_path();
  return fmt::format("{}/.{}.lock", folder_of(whole.string()), name.substr(0, kMostNameBytes));
}

Expected<LockFile> LockFile::take(std::string const& path, std::string const& output, Share share,
                                  std::chrono::milliseconds patience) {
  LockFile lock;
  lock.path_ = path;
  auto const last_time = std::chrono::steady_clock::now() + patience;
  for (;;) {
    lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (lock.fd_ < 0)
      return fail("{}: cannot be written ({}: {}), choose another place", output, path,
                  std::strerror(errno));
    if (is_planted(lock.fd_))
      return fail("{}: is no lock of Stepscope, remove it or choose another place", path);

    bool const is_locked =
        ::flock(lock.fd_, (share == Share::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
    bool const is_taken = !is_locked && errno == EWOULDBLOCK;
    // A command that has just ended may have removed the name. A file system without locks goes
    // without.
    if (!is_taken && (!is_locked || is_named(lock.fd_, path))) {
      lock.name_ = Unfinished(path, Unfinished::Kind::kFile);
      write_holder(lock.fd_);
      return lock;
    }
    if (is_taken && std::chrono::steady_clock::now() >= last_time)
      return fail("{}: {} is writing there, wait until it ends or choose another place", output,
                  holder_of(lock.fd_));
    ::close(std::exchange(lock.fd_, -1));
    if (is_taken) std::this_thread::sleep_for(kPause);
  }
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(name_, other.name_);
  return *this;
}

LockFile::~LockFile() {
  if (fd_ < 0) return;
  // Without a name it never was a lock. The last process that shares the lock removes it.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) name_.keep();
  name_.remove();
  ::close(fd_);
}

}  // namespace stepscope::base
