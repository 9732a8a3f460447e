#include "trace/base/files/output_file.h"

namespace stepscope::base {

Expected<void> write_file_atomically(std::string const& path, std::string_view content,
                                     PartialFile::Links links) {
  auto file = PartialFile::create(path, links);
  if (!file) return fail_with(file);
  if (auto const done = file->write(content); !done) return done;
  return file->finish();
}

}  // namespace stepscope::base
