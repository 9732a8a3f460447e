// Any bytes as a packet between a program and the command that records it: reading never crashes,
// and what is accepted is written as the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/base/check.h"
#include "tracer/nvml/sampling_messages.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope::tracer::nvml;
  auto const packet = std::as_bytes(std::span(data, size));
  auto const message = decode_sampling_message(packet);
  if (!message) return 0;

  // Counters that this version does not know are left out: then, and for flags that are not 0 or 1,
  // the bytes differ. Written again they stay.
  auto const bytes = encode(*message);
  auto const again = decode_sampling_message(bytes);
  STEPSCOPE_CHECK(again.has_value() && again->index() == message->index());
  STEPSCOPE_CHECK(encode(*again) == bytes);
  return 0;
}
