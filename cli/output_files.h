// Several files that belong together: all are written, or none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/partial_file.h"

namespace stepscope::cli {

class OutputFiles {
 public:
  using Links = base::PartialFile::Links;

  /// `path` empty: it is not wanted.
  void add(std::string const& path, std::string content, Links links = Links::kFollow) {
    if (!path.empty()) files_.push_back({path, std::move(content), links});
  }
  /// When all are whole they take their places, in one go: two commands that write the same files
  /// do not mix them. Errors: one cannot be written, or two have one name; nothing has changed
  /// then, but where renaming fails half way.
  base::Expected<void> write() const;

 private:
  struct File {
    std::string path, content;
    Links links;
  };
  std::vector<File> files_;
};

}  // namespace stepscope::cli
