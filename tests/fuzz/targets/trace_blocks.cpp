// Any payloads in blocks with sound checksums, as a hostile program would write them. Reading
// names, descriptions and event columns never crashes, and what was read is written and read back
// without a change.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/block_input.h"
#include "tests/fuzz/trace_identity.h"
#include "trace/file/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  base::ByteWriter const file = fuzz::file_of_blocks(std::as_bytes(std::span(data, size)));
  auto const trace_file = file::TraceFile::open(file.span(), "input");
  if (trace_file) fuzz::check_readable(*trace_file);
  return 0;
}
