// Several files that belong together: all are written, or none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::cli {

class OutputFiles {
 public:
  /// `path` empty: nobody wants it.
  void add(std::string const& path, std::string content) {
    if (!path.empty()) files_.emplace_back(path, std::move(content));
  }
  /// Each is written beside its place, and when all are whole they are renamed. Errors: one cannot be written, or two have one
  /// name; nothing has changed then, but where renaming fails half way.
  base::Expected<void> write() const;

 private:
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace stepscope::cli
