#include "trace/stream/step_record.h"

#include <algorithm>

namespace stepscope::stream {

char const* to_string(TimePart part) {
  constexpr std::array<char const*, kTimeParts> kNames = {
      "compute", "exposed communication", "exposed copies", "input", "allocation", "idle"};
  return kNames[static_cast<size_t>(part)];
}

int64_t steps_of_record(int64_t first_length_ns) {
  constexpr int64_t kMost = int64_t{1} << 20;
  int64_t steps = 1;
  while (steps < kMost && steps * first_length_ns < kShortestRecordNs) steps *= 2;
  return steps;
}

void append(StepRecord& record, StepRecord const& next) {
  record.length_ns += next.length_ns;
  record.longest_ns = std::max(record.longest_ns, next.longest_ns);
  record.between_ns += next.between_ns;
  record.steps += next.steps;

  for (size_t i = 0; i < kTimeParts; ++i) record.parts[i] += next.parts[i];
  record.comm_ns += next.comm_ns;
  record.input_ns += next.input_ns;
  record.comm_bytes += next.comm_bytes;
  record.copied_in_bytes += next.copied_in_bytes;
  record.collectives += next.collectives;
  record.kernels += next.kernels;

  record.peak_bytes = std::max(record.peak_bytes, next.peak_bytes);
  record.reserved_bytes = std::max(record.reserved_bytes, next.reserved_bytes);
  if (record.power_mw < 0) {
    record.power_mw = next.power_mw;
  } else if (next.power_mw >= 0) {
    int64_t const before = int64_t{record.steps} - next.steps;
    record.power_mw = (record.power_mw * before + next.power_mw * next.steps) / record.steps;
  }
  record.dropped += next.dropped;
  record.late_ns += next.late_ns;
}

}  // namespace stepscope::stream
