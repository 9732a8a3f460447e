#include "tracer/core/process/trace_files.h"

#include <filesystem>
#include <utility>

#include <time.h>
#include <unistd.h>

#include "tracer/core/unforked_memory.h"

namespace stepscope::tracer {
namespace {

/// File names tried before giving up. Few are numbered, the others have the time in them: a process
/// that executes a thousand programs makes as many files under one process id.
constexpr int kNameAttempts = 100, kNumberedNames = 8;

}  // namespace

int64_t epoch_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

base::Expected<CreatedFile> create_trace_file(CaptureOptions const& options,
                                              std::string const& folder) {
  if (folder != options.folder) {
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) return base::fail("{}: cannot be made ({})", folder, error.message());
  }

  base::Expected<CreatedFile> made = base::fail("no name was tried");
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    int64_t const number = attempt < kNumberedNames ? attempt : epoch_ns();
    std::string const path = folder + "/" + trace_file_name(options, ::getpid(), number);
    auto created = file::TraceWriter::create(path, kUnforkedBlocks);
    if (created) return CreatedFile{std::move(*created), path};

    made = base::fail_with(created);
    if (::access(path.c_str(), F_OK) != 0) break;  // not "it exists": the next name would fail too
  }
  return made;
}

}  // namespace stepscope::tracer
