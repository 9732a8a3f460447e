// Any bytes as a dump of PyTorch's flight recorder, pickle or JSON, packed or not. Reading never
// crashes, whatever they refer to, and what was read can be written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "nccl_trace_rank_1");
  import::is_flight_recorder_dump(input);
  if (auto const trace = import::read_flight_recorder_dump(input))
    fuzz::check_write_read_identity(*trace);
  return 0;
}
