// Any bytes as a stream of steps: as they are, and with the checksums that they would have. Reading
// never crashes, and neither does what is shown of what was read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <xxhash.h>

#include "reports/live/live_page.h"
#include "tests/fuzz/trace_identity.h"
#include "trace/import/formats/step_stream/step_stream_importer.h"
#include "trace/stream/stream_file.h"

namespace {

using namespace stepscope;

/// Replaces each record's checksum by the right one.
std::vector<std::byte> with_checksums(base::ByteSpan bytes, size_t head_bytes) {
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  constexpr size_t kSummed = stream::kRecordBytes - sizeof(uint64_t);
  for (size_t at = head_bytes; at + stream::kRecordBytes <= whole.size();
       at += stream::kRecordBytes) {
    uint64_t const checksum = XXH3_64bits(whole.data() + at, kSummed);
    std::memcpy(whole.data() + at + kSummed, &checksum, sizeof checksum);
  }
  return whole;
}

void look_at(base::ByteSpan bytes) {
  auto const head = stream::decode_header(bytes, "rank-0.steps");
  if (!head) return;
  stream::StreamRecords records;
  stream::decode_records(bytes.subspan(head->bytes), records);

  analyzer::LiveRun live;
  live.add_process(head->info);
  for (model::Device const& device : records.devices)
    live.add_device(head->info.rank, head->info.process_id, device);
  for (stream::StepRecord const& record : records.steps) {
    live.add(head->info.rank, head->info.process_id, record);
    stream::StepRecord other = record;
    other.length_ns /= 2;
    live.add(head->info.rank + 1, 0, other);
  }

  auto const state = reports::live_state("run", live, 100, 0);
  static_cast<void>(reports::live_page(state, 4, {}));
  static_cast<void>(reports::live_json(state));
  static_cast<void>(reports::live_metrics(state));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  auto const bytes = std::as_bytes(std::span(data, size));
  auto const head = stream::decode_header(bytes, "rank-0.steps");
  std::vector<std::byte> const repaired = with_checksums(bytes, head ? head->bytes : 0);
  for (base::ByteSpan const each : {bytes, base::ByteSpan(repaired)}) {
    look_at(each);
    if (auto const trace = import::read_step_stream(import::Input(each, "rank-0.steps")))
      fuzz::check_write_read_identity(*trace);
  }
  return 0;
}
