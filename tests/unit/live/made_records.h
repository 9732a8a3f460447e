// Records of steps as a healthy job has them.
#pragma once

#include <cstdint>

#include "trace/stream/step_record.h"

namespace stepscope::support {

/// 100 ms: 70 ms of compute, 25 ms of exposed communication, idle for the rest. A device has
/// `longer_ns` more of `part`.
inline stream::StepRecord made_record(int64_t step, int64_t longer_ns = 0,
                                      stream::TimePart part = stream::TimePart::kCompute) {
  stream::StepRecord record;
  record.step = step;
  record.begin_ns = step * 100'000'000;
  record.device = 0;
  record.parts = {70'000'000, 25'000'000, 0, 0, 0, 5'000'000};
  record.comm_ns = 40'000'000;
  record.collectives = 4;

  record.parts[static_cast<size_t>(part)] += longer_ns;
  if (part == stream::TimePart::kCommunication) record.comm_ns += longer_ns;
  record.length_ns = record.longest_ns = 100'000'000 + longer_ns;
  return record;
}

}  // namespace stepscope::support
