#include "trace/import/open/spilled_source.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "trace/base/files/temporary.h"
#include "trace/file/writer.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;

std::optional<file::TraceFile> write_and_open(model::Trace const& trace) {
  std::error_code error;
  auto const folder = base::TemporaryFolder::create(fs::temp_directory_path(error).string());
  if (error || !folder) return std::nullopt;

  std::string const path = folder->path_of("packed.stepscope");
  if (!file::write_trace(trace, path)) return std::nullopt;
  auto file =
      file::TraceFile::open(path, file::Calls::kMerged);  // stays mapped when its name is gone

  bool const is_whole = file && file->damage().empty() &&
                        file->tracks().size() == trace.tracks().size() &&
                        file->event_count() == trace.event_count();
  return is_whole ? std::optional(std::move(*file)) : std::nullopt;
}

}  // namespace

TraceSource packed(TraceSource source) {
  if (!source.is_in_memory()) return source;
  auto const trace = source.read({});
  auto file = trace ? write_and_open(**trace) : std::nullopt;
  if (!file) return source;
  TraceSource small(std::move(*file), model::head_of(**trace));
  if (source.is_rank_by_name()) small.assume_rank_by_name(source.info().rank);
  return small;
}

}  // namespace stepscope::import
