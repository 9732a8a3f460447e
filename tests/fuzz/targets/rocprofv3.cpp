// Any bytes as rocprofv3's JSON, packed or not: reading never crashes, and what was read can be
// written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/import/formats/rocprofv3/rocprofv3_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "77_results.json");
  import::is_rocprofv3_json(input);
  auto const traces = import::read_rocprofv3_json(input);
  if (!traces) return 0;
  for (model::Trace const& trace : *traces) fuzz::check_write_read_identity(trace);
  return 0;
}
