// Any bytes as a trace of Chrome events, packed or not. Reading never crashes, and the size of the
// blocks in which it is read changes nothing. What was read can be written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/base/check.h"
#include "trace/import/formats/chrome/chrome_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "rank-1.json");
  import::is_chrome_trace(input);

  constexpr size_t kSmall = 48, kMiddle = 4096, kLarge = size_t{1} << 20U;
  auto const in_small_blocks = import::read_chrome_trace(input, input.plain() ? kSmall : kMiddle);
  auto const in_one = import::read_chrome_trace(input, kLarge);
  STEPSCOPE_CHECK(in_small_blocks.has_value() == in_one.has_value());
  if (!in_one) return 0;

  fuzz::check_write_read_identity(*in_one);
  // After something that is no event, reading goes on where an event may begin: which places are
  // tried depends on the blocks.
  if (in_one->log().notes.empty())
    STEPSCOPE_CHECK(in_small_blocks->event_count() == in_one->event_count());
  return 0;
}
