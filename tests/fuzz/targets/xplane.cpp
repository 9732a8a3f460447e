// Any bytes as a profile of XLA, packed or not. Reading never crashes, and the size of the pieces
// in which it is read changes nothing. What was read can be written and read back.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/base/check.h"
#include "trace/import/formats/xplane/xplane_importer.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  import::Input const input(std::as_bytes(std::span(data, size)), "host-w-1.xplane.pb");
  import::is_xplane(input);

  constexpr size_t kSmall = 1, kLarge = size_t{1} << 20U;
  auto const in_small_pieces = import::read_xplane(input, kSmall);
  auto const in_one = import::read_xplane(input, kLarge);
  STEPSCOPE_CHECK(in_small_pieces.has_value() == in_one.has_value());
  if (!in_one) return 0;

  STEPSCOPE_CHECK(in_small_pieces->event_count() == in_one->event_count());
  STEPSCOPE_CHECK(in_small_pieces->log().notes == in_one->log().notes);
  fuzz::check_write_read_identity(*in_one);
  return 0;
}
