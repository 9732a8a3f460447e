#include "cli/output_files.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "trace/base/files/temporary.h"
#include "trace/base/files/unfinished.h"

namespace stepscope::cli {
namespace {

/// While one lives, other commands that put files into the folder of `path` wait. Renaming takes
/// microseconds, so a lock that is not free after a second belongs to another program. Without
/// locks for folders there is nothing to wait for.
class FolderTurn {
 public:
  explicit FolderTurn(std::string const& path)
      : fd_(::open(base::folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    constexpr int kAttempts = 1000;
    constexpr std::chrono::milliseconds kPause{1};
    for (int attempt = 0; fd_ >= 0 && attempt < kAttempts; ++attempt) {
      if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
      std::this_thread::sleep_for(kPause);
    }
  }
  FolderTurn(FolderTurn const&) = delete;
  FolderTurn& operator=(FolderTurn const&) = delete;
  ~FolderTurn() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  int fd_;
};

}  // namespace

base::Expected<void> OutputFiles::write() const {
  std::set<std::filesystem::path> places;
  std::vector<base::PartialFile> written;
  for (auto const& [path, content, links] : files_) {
    if (!places.insert(std::filesystem::path(path).lexically_normal()).second)
      return base::fail("{}: is named twice, give each output a file of its own", path);
    auto file = base::PartialFile::create(path, links);
    if (!file) return base::fail_with(file);
    if (auto const done = file->write(content); !done) return done;
    written.push_back(std::move(*file));
  }
  if (written.empty()) return {};

  base::HeldSignals const blocked_signals;
  FolderTurn const turn(written.front().path());
  for (base::PartialFile& file : written)
    if (auto const done = file.finish(); !done) return done;
  return {};
}

}  // namespace stepscope::cli
