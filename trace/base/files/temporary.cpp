#include "trace/base/files/temporary.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = ".stepscope-", kEnd = ".tmp", kDigits = "0123456789abcdef";
constexpr size_t kRandomDigits = 16;
constexpr size_t kMostEntries = 10'000;
/// Names are random: only a leftover remover that comes between making and locking makes a second
/// attempt necessary.
constexpr int kAttempts = 8;

bool lock_now(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// What was just made. A file system without locks tells nobody that it is in use, so nobody
/// removes it there. False: a remover of leftovers came between making and locking.
bool keep_locked(int fd) {
  if (!lock_now(fd) && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

bool is_same_file(int fd, char const* path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::lstat(path, &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

bool is_of_this_user(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid() &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/// Whoever locks it first may remove it: its command has ended, or it would hold the lock.
void remove_if_left(char const* path) {
  int const fd = ::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (is_of_this_user(fd) && lock_now(fd) && is_same_file(fd, path)) remove_tree(path);
  ::close(fd);
}

bool is_first_search(std::string const& folder) {
  static std::mutex mutex;
  static std::set<std::string> searched;
  std::error_code error;
  std::string const place = fs::canonical(folder, error).string();
  std::lock_guard const lock(mutex);
  return !error && searched.insert(place).second;
}

}  // namespace

std::string temporary_name() {
  uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) < 0 && errno == EINTR) {
  }
  return fmt::format("{}{:016x}{}", kBegin, random, kEnd);
}

bool is_temporary_name(std::string_view file_name) {
  if (!file_name.starts_with(kBegin) || !file_name.ends_with(kEnd)) return false;
  if (file_name.size() != kBegin.size() + kRandomDigits + kEnd.size()) return false;
  return file_name.substr(kBegin.size(), kRandomDigits).find_first_not_of(kDigits) ==
         std::string_view::npos;
}

std::string folder_of(std::string const& path) {
  std::string const folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void remove_leftovers(std::string const& folder) {
  std::string const place = folder.empty() ? "." : folder;
  if (!is_first_search(place)) return;

  std::error_code error;
  std::vector<std::string> left;
  size_t entries = 0;
  for (fs::directory_iterator entry(place, error), end;
       !error && entry != end && entries < kMostEntries; entry.increment(error)) {
    ++entries;
    if (is_temporary_name(entry->path().filename().string()))
      left.push_back(entry->path().string());
  }
  for (std::string const& path : left) remove_if_left(path.c_str());
}

TemporaryFile make_temporary_file(std::string const& folder) {
  TemporaryFile file;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    file.path = fmt::format("{}/{}", folder, temporary_name());
    file.name = Unfinished(file.path, Unfinished::Kind::kFile);
    file.fd = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file.fd < 0) {
      int const reason = errno;
      file.name.keep();  // what is there is not ours
      errno = reason;
      if (reason != EEXIST) return file;
      continue;
    }
    if (keep_locked(file.fd)) return file;
    ::close(std::exchange(file.fd, -1));
    errno = EEXIST;
  }
  return file;
}

Expected<TemporaryFolder> TemporaryFolder::create(std::string const& folder) {
  remove_leftovers(folder);
  TemporaryFolder made;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    made.path_ = fmt::format("{}/{}", folder, temporary_name());
    made.name_ = Unfinished(made.path_, Unfinished::Kind::kFolder);
    if (::mkdir(made.path_.c_str(), 0700) != 0) {
      int const reason = errno;
      made.name_.keep();
      if (reason == EEXIST) continue;
      return fail("{}: cannot be written ({}), choose another place", folder,
                  std::strerror(reason));
    }
    made.lock_ = ::open(made.path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made.lock_ >= 0 && keep_locked(made.lock_)) return made;
    if (made.lock_ >= 0) ::close(std::exchange(made.lock_, -1));
  }
  return fail("{}: cannot be written (no free name), choose another place", folder);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      name_(std::move(other.name_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  std::swap(name_, other.name_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  name_.remove();  // while it is locked
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace stepscope::base
