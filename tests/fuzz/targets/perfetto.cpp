// Any bytes as a trace of Perfetto, packed or not: reading never crashes, and what was read can be
// written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/import/formats/perfetto/perfetto_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "rank-1.pftrace");
  import::is_perfetto_trace(input);
  auto const traces = import::read_perfetto_trace(input);
  if (!traces) return 0;
  for (model::Trace const& trace : *traces) fuzz::check_write_read_identity(trace);
  return 0;
}
