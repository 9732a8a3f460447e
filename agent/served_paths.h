// The paths that an agent may read: those that the server was started with, and what lies in them.
// Symbolic links count as what they lead to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::agent {

/// A file of a run as it was when the run was read.
struct FileStamp {
  std::string path;
  int64_t modified_ns = 0;
  uint64_t bytes = 0;
  friend bool operator==(FileStamp const&, FileStamp const&) = default;
};

class ServedPaths {
 public:
  /// Errors: a path that is not there.
  static base::Expected<ServedPaths> of(std::vector<std::string> const& paths);

  /// Canonical, without symbolic links.
  [[nodiscard]] std::vector<std::filesystem::path> const& roots() const { return roots_; }

  /// The canonical path of `run`: absolute, or relative to the working folder or to a served one.
  /// Errors: it is not there, or not within a served path.
  [[nodiscard]] base::Expected<std::string> find(std::string const& run) const;
  /// Every file in or below a canonical path, in order of their names. Errors: a symbolic link in
  /// it leads out of the served paths; there are too many files for one run.
  [[nodiscard]] base::Expected<std::vector<FileStamp>> files_below(std::string const& path) const;

 private:
  [[nodiscard]] bool serves(std::filesystem::path const& canonical) const;
  [[nodiscard]] std::string listed() const;

  std::vector<std::filesystem::path> roots_;
};

}  // namespace stepscope::agent
