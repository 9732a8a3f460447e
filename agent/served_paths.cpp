#include "agent/served_paths.h"

#include <algorithm>
#include <system_error>

#include <sys/stat.h>

#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// More than a run of any job has. A home folder has more, and is no run.
constexpr size_t kMostFiles = 20'000;

FileStamp stamp_of(fs::path const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {path.string()};
  int64_t const modified_ns =
      int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return {path.string(), modified_ns, static_cast<uint64_t>(status.st_size)};
}

}  // namespace

Expected<ServedPaths> ServedPaths::of(std::vector<std::string> const& paths) {
  ServedPaths served;
  for (std::string const& path : paths) {
    std::error_code error;
    fs::path root = fs::canonical(path, error);
    if (error) return fail("{}: cannot be served ({}), check the path", path, error.message());
    served.roots_.push_back(std::move(root));
  }
  return served;
}

bool ServedPaths::serves(fs::path const& canonical) const {
  return std::any_of(roots_.begin(), roots_.end(), [&](fs::path const& root) {
    auto const [of_root, rest] =
        std::mismatch(root.begin(), root.end(), canonical.begin(), canonical.end());
    return of_root == root.end();
  });
}

std::string ServedPaths::listed() const {
  std::string text;
  for (fs::path const& root : roots_) text += (text.empty() ? "" : ", ") + root.string();
  return base::printable(text);
}

Expected<std::string> ServedPaths::find(std::string const& run) const {
  if (run.empty() || run.find('\0') != std::string::npos)
    return fail("the path of the run is empty or no path, name one of: {}", listed());

  std::vector<fs::path> places = {run};
  if (fs::path(run).is_relative())
    for (fs::path const& root : roots_) places.push_back(root / run);

  // A path outside is refused in the same words whether it is there or not.
  bool is_any_served = false;
  for (fs::path const& place : places) {
    std::error_code error;
    fs::path const canonical = fs::weakly_canonical(fs::absolute(place, error), error);
    if (error || !serves(canonical)) continue;
    is_any_served = true;
    // A pipe in its place would never end.
    if (fs::is_regular_file(canonical, error) || fs::is_directory(canonical, error))
      return canonical.string();
  }

  std::string const shown = base::printable(run);
  if (is_any_served) return fail("{}: no such file or folder, open lists the served runs", shown);
  return fail("{}: is not within the served paths, which are {}", shown, listed());
}

Expected<std::vector<FileStamp>> ServedPaths::files_below(std::string const& path) const {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{stamp_of(path)};

  std::vector<FileStamp> files;
  fs::recursive_directory_iterator it(path, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored)) {
      fs::path const target = fs::weakly_canonical(it->path(), ignored);
      if (ignored || !serves(target))
        return fail(
            "{}: this link leads out of the served paths, start stepscope mcp with its "
            "target too",
            base::printable(it->path().string()));
    }

    if (it->is_regular_file(ignored)) files.push_back(stamp_of(it->path()));
    if (files.size() > kMostFiles)
      return fail("{}: holds more than {} files, name a run in it", base::printable(path),
                  kMostFiles);
  }

  if (error)
    return fail("{}: cannot read the folder ({}), check its permissions", base::printable(path),
                error.message());
  std::sort(files.begin(), files.end(),
            [](FileStamp const& a, FileStamp const& b) { return a.path < b.path; });
  return files;
}

}  // namespace stepscope::agent
