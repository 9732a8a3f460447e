#include "trace/import/packed_source.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "trace/file/writer.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;

/// A folder of this process alone, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "stepscope-XXXXXX").string();
    made_ = !error && mkdtemp(path_.data()) != nullptr;
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] bool is_made() const { return made_; }
  [[nodiscard]] std::string file(char const* name) const { return (fs::path(path_) / name).string(); }

 private:
  std::string path_;
  bool made_ = false;
};

std::optional<file::TraceFile> write_and_open(model::Trace const& trace) {
  TemporaryFolder const folder;
  if (!folder.is_made()) return std::nullopt;
  std::string const path = folder.file("packed.stepscope");
  if (!file::write_trace(trace, path)) return std::nullopt;
  auto file = file::TraceFile::open(path, file::Calls::kMerged);  // stays mapped when its name is gone
  bool const is_whole = file && file->damage().empty() && file->tracks().size() == trace.tracks().size() &&
                        file->event_count() == trace.event_count();
  return is_whole ? std::optional(std::move(*file)) : std::nullopt;
}

}  // namespace

TraceSource packed(TraceSource source) {
  if (!source.is_in_memory()) return source;
  auto const trace = source.read({});
  auto file = trace ? write_and_open(**trace) : std::nullopt;
  return file ? TraceSource(std::move(*file), model::head_of(**trace)) : std::move(source);
}

}  // namespace stepscope::import
