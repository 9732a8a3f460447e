#include "trace/base/files/output_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(std::string const& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder_at(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_file_or_link(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 &&
         (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode));
}

}  // namespace

bool is_hidden_helper(std::string_view file_name) {
  return file_name == LockFile::kNameInFolder || is_temporary_name(file_name);
}

bool has_content(std::string const& folder) {
  std::vector<std::string> const names = names_in(folder);
  return !std::all_of(names.begin(), names.end(), is_hidden_helper);
}

Expected<MadeFolders> MadeFolders::make(std::string const& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path path = fs::absolute(folder, error).lexically_normal();
       !path.empty() && !fs::exists(path, error);) {
    if (path.has_filename()) missing.push_back(path);
    fs::path const parent = path.parent_path();
    if (parent == path) break;
    path = parent;
  }

  MadeFolders folders;
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    Unfinished name(path->string(), Unfinished::Kind::kEmptyFolder);
    bool const is_made = ::mkdir(path->c_str(), 0777) == 0;
    int const reason = errno;
    if (is_made) {
      folders.made_.push_back(std::move(name));
      continue;
    }
    name.keep();
    if (reason != EEXIST)
      return fail("{}: cannot be made ({}), choose another folder with -o", folder,
                  std::strerror(reason));
  }
  return folders;
}

MadeFolders::~MadeFolders() {
  while (!made_.empty()) made_.pop_back();  // the innermost goes first
}

Expected<void> remove_files(std::string const& folder, IsNamed const& is_old) {
  for (std::string const& name : names_in(folder)) {
    std::string const path = fmt::format("{}/{}", folder, name);
    if (!is_old(name) || !is_file_or_link(path)) continue;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return fail("{}: cannot be removed ({}), check its permissions", path, std::strerror(errno));
  }
  return {};
}

Expected<OutputFolder> OutputFolder::take(std::string folder, LockFile::Share share) {
  std::error_code error;
  if (folder.empty()) return fail("no folder was named, give one with -o");
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    return fail("{}: is a file, choose a folder with -o", folder);
  OutputFolder output(std::move(folder));
  auto made = MadeFolders::make(output.folder_);
  if (!made) return fail_with(made);
  output.made_ = std::move(*made);
  if (::access(output.folder_.c_str(), W_OK | X_OK) != 0)
    return fail("{}: cannot be written ({}), choose another folder with -o", output.folder_,
                std::strerror(errno));
  auto lock = LockFile::take(fmt::format("{}/{}", output.folder_, LockFile::kNameInFolder),
                             output.folder_, share);
  if (!lock) return fail_with(lock);
  output.lock_.emplace(std::move(*lock));
  return output;
}

Expected<std::string> OutputFolder::staging() {
  if (!staging_) {
    auto made = TemporaryFolder::create(folder_);
    if (!made) return fail_with(made);
    staging_.emplace(std::move(*made));
  }
  return staging_->path();
}

Expected<void> OutputFolder::publish(IsNamed const& is_old) {
  std::vector<std::string> const names =
      staging_ ? names_in(staging_->path()) : std::vector<std::string>();
  auto const place_of = [&](std::string const& name) {
    return fmt::format("{}/{}", folder_, name);
  };
  for (std::string const& name : names)
    if (is_folder_at(place_of(name)))
      return fail("{}: is a folder, choose another place with -o", place_of(name));

  HeldSignals const held;
  if (auto const removed = remove_files(folder_, is_old); !removed) return removed;
  for (std::string const& name : names) {
    if (std::rename(staging_->path_of(name).c_str(), place_of(name).c_str()) != 0)
      return fail("{}: cannot write ({}), choose another place with -o", place_of(name),
                  std::strerror(errno));
  }
  staging_.reset();
  return {};
}

Error OutputFolder::in_place(Error error) const {
  if (!staging_) return error;
  std::string const& hidden = staging_->path();
  for (size_t at = error.message.find(hidden); at != std::string::npos;
       at = error.message.find(hidden, at + folder_.size()))
    error.message.replace(at, hidden.size(), folder_);
  return error;
}

}  // namespace stepscope::base
