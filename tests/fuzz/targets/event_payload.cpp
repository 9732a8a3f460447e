// Any bytes as the payload of an event block: decoding never crashes, and what was decoded is
// encoded and decoded again without a change. In memory, so that millions of inputs are tried in
// minutes. The first byte chooses the number of rows.
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "tests/fuzz/trace_identity.h"
#include "trace/base/check.h"
#include "trace/file/codec/event_codec.h"

namespace {

/// The payload that decodes to `batch` gives the same where rows stay.
void check_rows_in_place(stepscope::base::ByteSpan bytes, stepscope::model::EventBatch const& batch,
                         bool are_all_known) {
  using namespace stepscope;
  if (!are_all_known) return;

  static file::EventDecoder decoder;
  model::EventBatch placed;
  placed.start.resize(batch.size());
  placed.dur.resize(batch.size());
  placed.name.resize(batch.size());
  placed.kind.resize(batch.size());
  placed.correlation.resize(batch.size());
  model::RowSpans const rows{placed.start, placed.dur, placed.name, placed.kind,
                             placed.correlation};
  STEPSCOPE_CHECK(decoder.decode_rows(bytes, file::current_columns(), {}, rows));

  auto const counts = model::count_details(placed.kind);
  size_t number = 0;
  std::apply([&](auto&... table) { (table.resize(counts[number++]), ...); }, placed.details);
  STEPSCOPE_CHECK(
      decoder.decode_details(bytes, file::current_columns(), {}, {}, counts, placed.details));
  STEPSCOPE_CHECK(fuzz::same_events(batch, placed));
}

}  // namespace

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
  check_rows_in_place(bytes, batch, unknown == 0);

  // As readers do, which give names ids of their own: an encoder's tables grow with the largest.
  for (model::StringId& name : batch.name) name.value %= 1U << 20;
  payload.clear();
  encoder.encode(model::EventView(batch), payload);
  auto const rows = static_cast<uint32_t>(batch.size());
  STEPSCOPE_CHECK(
      decoder.decode(payload.span(), rows, file::current_columns(), {}, again, unknown));
  STEPSCOPE_CHECK(fuzz::same_events(batch, again));
  return 0;
}
