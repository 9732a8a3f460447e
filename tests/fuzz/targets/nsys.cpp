// Any bytes as an export of Nsight Systems, packed or not: reading ends, never crashes, says the
// same twice, and what was read can be written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/base/check.h"
#include "trace/import/formats/nsys/nsys_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)),
                            "fuzz/no-such-folder/rank-1.sqlite");
  import::is_nsys_export(input);

  auto const traces = import::read_nsys_export(input);
  if (!traces) {
    STEPSCOPE_CHECK(!traces.error().message.empty());
    return 0;
  }
  STEPSCOPE_CHECK(!traces->empty());

  auto const again = import::read_nsys_export(input);
  STEPSCOPE_CHECK(again.has_value() && again->size() == traces->size());
  for (size_t i = 0; i < traces->size(); ++i) {
    STEPSCOPE_CHECK((*traces)[i].event_count() == (*again)[i].event_count());
    fuzz::check_write_read_identity((*traces)[i]);
  }
  return 0;
}
