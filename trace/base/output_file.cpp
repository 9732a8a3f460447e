#include "trace/base/output_file.h"

#include "trace/base/partial_file.h"

namespace stepscope::base {

Expected<void> write_file_atomically(std::string const& path, std::string_view content) {
  auto file = PartialFile::create(path);
  if (!file) return fail_with(file);
  if (auto const done = file->write(content); !done) return done;
  return file->finish();
}

}  // namespace stepscope::base
