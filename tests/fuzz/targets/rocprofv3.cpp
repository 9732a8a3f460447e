// Any bytes as JSON or a rocpd database of rocprofv3, packed or not: reading ends, never crashes,
// and what was read can be written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/import/formats/rocpd/rocpd_importer.h"
#include "trace/import/formats/rocprofv3/rocprofv3_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "fuzz/no-such-folder/77_results");
  bool const is_json = import::is_rocprofv3_json(input);
  bool const is_database = import::is_rocpd(input);

  auto const traces =
      is_database && !is_json ? import::read_rocpd(input) : import::read_rocprofv3_json(input);
  if (!traces) return 0;
  for (model::Trace const& trace : *traces) fuzz::check_write_read_identity(trace);
  return 0;
}
