#include "viewer/session/run_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "trace/base/files/run_folder.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/non_trace_files.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

/// A system call takes a microsecond, on a network's file system up to a hundred: of more files
/// these many a look.
constexpr size_t kMostLooks = 256;
constexpr int64_t kNsASecond = 1'000'000'000;

int64_t to_ns(struct statx_timestamp const& time) {
  return time.tv_sec * kNsASecond + time.tv_nsec;
}

/// Nothing when it is not there.
std::optional<struct statx> status_of(std::string const& path) {
  struct statx info {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS | STATX_BTIME,
              &info) != 0)
    return std::nullopt;
  return info;
}

/// A file that a folder's run has, by the rule of opening it.
bool may_be_trace(fs::path const& path) {
  std::string const name = path.filename().string();
  if (name.ends_with(base::kTraceSuffix)) return true;
  return import::has_trace_name(name) && !import::is_other_file(path.string());
}

std::string file_name(std::string const& path) { return fs::path(path).filename().string(); }

}  // namespace

RunFiles::Stamp RunFiles::stamp_of(std::string const& path) {
  auto const info = status_of(path);
  if (!info || !S_ISREG(info->stx_mode)) return {};
  // The number of a file that was removed is given to the next one: when it was made tells them
  // apart.
  int64_t const made_ns = (info->stx_mask & STATX_BTIME) != 0 ? to_ns(info->stx_btime) : 0;
  uint64_t const device = uint64_t{info->stx_dev_major} << 32U | info->stx_dev_minor;
  return {true, device, info->stx_ino, info->stx_size, made_ns, to_ns(info->stx_mtime)};
}

RunFiles::RunFiles(std::vector<std::string> const& paths) {
  for (std::string const& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add_file(path);
      continue;
    }
    folders_.push_back({path, 0, {}});
    read_folder(folders_.back());
  }
}

void RunFiles::add(std::vector<std::string> const& files) {
  for (std::string const& file : files) add_file(file);
}

bool RunFiles::add_file(std::string const& path) {
  if (!known_.insert(path).second) return false;
  Stamp const stamp = stamp_of(path);
  if (stamp.exists) files_.push_back({path, stamp, false});
  return stamp.exists;
}

/// True when a trace came.
bool RunFiles::read_folder(Folder& folder) {
  auto const info = status_of(folder.path);
  if (!info) return false;
  // Before it is read: what comes meanwhile is seen again.
  folder.written_ns = to_ns(info->stx_mtime);
  bool came = false;
  std::error_code error;
  for (fs::directory_iterator it(folder.path, error), end; !error && it != end;
       it.increment(error)) {
    std::string const name = it->path().filename().string();
    if (folder.names.contains(name)) continue;
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    folder.names.insert(name);
    if (may_be_trace(it->path())) came = add_file(it->path().string()) || came;
  }
  return came;
}

void RunFiles::look_at(File& file, FileChange& change) {
  Stamp const now = stamp_of(file.path);
  Stamp const before = file.stamp;
  if (!before.exists && !now.exists) return;
  bool const is_same = now.exists == before.exists && now.device == before.device &&
                       now.inode == before.inode && now.made_ns == before.made_ns;
  bool const is_written = now.written_ns != before.written_ns;
  bool const is_suspect = file.is_suspect;
  file.stamp = now;
  file.is_suspect = false;
  char const* what = nullptr;
  if (!now.exists) {
    what = "was removed";
  } else if (!is_same) {
    what = "was replaced by another file";
  } else if (now.size < before.size) {
    what = "became shorter";
  } else if (now.size > before.size) {
    change.grew = true;
  } else if (is_written) {
    // A file that grows may be seen between its time and its size.
    file.is_suspect = true;
  } else if (is_suspect) {
    what = "was written anew";
  }
  if (what != nullptr && change.lost.empty()) change.lost = file_name(file.path) + " " + what;
}

FileChange RunFiles::look() {
  FileChange change;
  size_t const count = std::min(files_.size(), kMostLooks);
  for (size_t i = 0; i < count; ++i) {
    next_ = next_ < files_.size() ? next_ : 0;
    look_at(files_[next_++], change);
  }
  for (Folder& folder : folders_) {
    auto const info = status_of(folder.path);
    if (!info || to_ns(info->stx_mtime) == folder.written_ns) continue;
    if (read_folder(folder)) change.grew = true;
  }
  return change;
}

double RunFiles::seconds_since_written() const {
  int64_t newest = std::numeric_limits<int64_t>::min();
  for (File const& file : files_) newest = std::max(newest, file.stamp.written_ns);
  if (files_.empty()) return std::numeric_limits<double>::max();
  auto const now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return (static_cast<double>(now.count()) - static_cast<double>(newest)) /
         static_cast<double>(kNsASecond);
}

}  // namespace stepscope::viewer
