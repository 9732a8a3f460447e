#include "cli/output_files.h"

#include <filesystem>
#include <set>

#include "trace/base/partial_file.h"

namespace stepscope::cli {

base::Expected<void> OutputFiles::write() const {
  std::set<std::filesystem::path> places;
  std::vector<base::PartialFile> written;
  for (auto const& [path, content] : files_) {
    if (!places.insert(std::filesystem::path(path).lexically_normal()).second)
      return base::fail("{}: is named twice, give each output a file of its own", path);
    auto file = base::PartialFile::create(path);
    if (!file) return base::fail_with(file);
    if (auto const done = file->write(content); !done) return done;
    written.push_back(std::move(*file));
  }
  for (base::PartialFile& file : written)
    if (auto const done = file.finish(); !done) return done;
  return {};
}

}  // namespace stepscope::cli
