#include "trace/file/reader.h"

#include <cstring>

#include "trace/file/format.h"
#include "trace/file/trace_file.h"

namespace stepscope::file {

bool is_stepscope_file(base::ByteSpan bytes) {
  return bytes.size() >= kFileMagic.size() &&
         std::memcmp(bytes.data(), kFileMagic.data(), kFileMagic.size()) == 0;
}

base::Expected<model::Trace> read_trace(base::ByteSpan bytes, std::string const& name) {
  auto const file = TraceFile::open(bytes, name);
  if (!file) return base::fail_with(file);
  return file->read();
}

base::Expected<model::Trace> read_trace_file(std::string const& path) {
  auto const file = TraceFile::open(path);
  if (!file) return base::fail_with(file);
  return file->read();
}

}  // namespace stepscope::file
