// Any bytes as a trace that the viewer opens, in memory or out of core. The first byte chooses how
// it is opened (its highest bit: checksums stay as they are), the rest is the file.
#include <cstddef>
#include <cstdint>
#include <span>

#include <oneapi/tbb/global_control.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/look_at_trace.h"

using namespace stepscope;

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static oneapi::tbb::global_control const one_thread(
      oneapi::tbb::global_control::max_allowed_parallelism, 1);
  static fuzz::InputFolder folder;

  if (size == 0) return 0;
  auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (!folder.take(bytes, (data[0] & 0x80U) == 0)) return 0;

  switch ((data[0] & 0x7FU) % 3) {
    case 0:
      fuzz::look_in_memory(folder.input());
      break;
    case 1:
      fuzz::look_out_of_core(folder.input(), false);
      break;
    default:
      fuzz::look_out_of_core(folder.input(), true);
      break;
  }
  return 0;
}
