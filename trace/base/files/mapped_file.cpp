#include "trace/base/files/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::base {

Expected<MappedFile> MappedFile::open(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail("{}: cannot open ({}), check the path and its permissions", path,
                std::strerror(errno));

  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fail("{}: not a regular file, name a trace file", path);
  }

  MappedFile file;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ > 0) {
    void* const data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      int const reason = errno;
      ::close(fd);
      file.size_ = 0;
      return fail("{}: cannot map {} bytes ({}), copy the file to a local disk", path, info.st_size,
                  std::strerror(reason));
    }
    file.data_ = data;
    file.guard_ = GuardedMapping(data, file.size_);
  }

  ::close(fd);
  file.path_ = path;
  file.device_ = info.st_dev;
  file.inode_ = info.st_ino;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_),
      guard_(std::move(other.guard_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  // Its place is free for another mapping first.
  guard_ = {};
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool MappedFile::is_cut() const {
  if (data_ == nullptr) return false;
  if (guard_.was_cut()) return true;
  // Within the last page that is left nothing fails: bytes are zeros there, too.
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_)
    return false;
  return static_cast<size_t>(info.st_size) < size_;
}

void MappedFile::release_pages() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_DONTNEED);
}

tl::unexpected<Error> became_shorter(std::string const& path) {
  return fail("{}: became shorter while it was read, open it again once no program writes it",
              path);
}

}  // namespace stepscope::base
