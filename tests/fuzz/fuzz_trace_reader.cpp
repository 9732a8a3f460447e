// Any bytes as a .stepscope file: reading never crashes, and what was read is written and read back without a change.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/file/reader.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  auto const trace = stepscope::file::read_trace(std::as_bytes(std::span(data, size)), "input");
  if (trace) stepscope::fuzz::check_write_read_identity(*trace);
  return 0;
}
