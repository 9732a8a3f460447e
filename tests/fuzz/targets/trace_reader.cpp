// Any bytes as a .stepscope file: reading never crashes, and what was read is written and read back
// without a change.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/file/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  auto const file = stepscope::file::TraceFile::open(std::as_bytes(std::span(data, size)), "input");
  if (file) stepscope::fuzz::check_readable(*file);
  return 0;
}
