#include "trace/base/mapped_file.h"

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
  if (fd < 0) return fail("{}: cannot open ({}), check the path and its permissions", path, std::strerror(errno));
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
      return fail("{}: cannot map {} bytes ({}), copy the file to a local disk", path, info.st_size, std::strerror(reason));
    }
    file.data_ = data;
  }
  ::close(fd);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace stepscope::base
