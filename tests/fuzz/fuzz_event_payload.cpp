// Any bytes as the payload of an event block: decoding never crashes, and what was decoded is encoded and decoded again without a
// change. In memory, so that millions of inputs are tried in minutes. The first byte chooses the number of rows.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/trace_identity.h"
#include "trace/base/check.h"
#include "trace/file/event_codec.h"

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  using namespace stepscope;
  if (size == 0) return 0;
  static file::EventEncoder encoder;
  static file::EventDecoder decoder;
  static model::EventBatch batch;
  static model::EventBatch again;
  static base::ByteWriter payload;
  uint64_t unknown = 0;
  auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (!decoder.decode(bytes, data[0], file::current_columns(), {}, batch, unknown)) return 0;
  // As readers do, which give names ids of their own: an encoder's tables grow with the largest.
  for (model::StringId& name : batch.name) name.value %= 1U << 20;
  payload.clear();
  encoder.encode(model::EventView(batch), payload);
  auto const rows = static_cast<uint32_t>(batch.size());
  STEPSCOPE_CHECK(decoder.decode(payload.span(), rows, file::current_columns(), {}, again, unknown));
  STEPSCOPE_CHECK(fuzz::same_events(batch, again));
  return 0;
}
