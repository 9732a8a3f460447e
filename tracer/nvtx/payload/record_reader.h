// Record bytes → the parts of an event. Checks every length: a record that does not fit its own
// words is no record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tracer/nvtx/payload/record_layout.h"

namespace stepscope::tracer {

struct Record {
  RecordType type = RecordType::kPadding;
  uint8_t flags = 0;
  uint16_t domain = 0;
  ValueType value_type = ValueType::kNone;
  uint32_t category = 0;
  uint32_t color = 0;
  uint32_t handle = 0;
  int64_t ticks = 0;
  uint64_t range = 0;
  uint64_t value = 0;
  std::string_view text;
  std::vector<PayloadView> payloads;  ///< kept between calls to save allocations
};

/// Fills `record` from the words of one record (header.words of them). False when they contradict
/// themselves.
bool read_record(std::span<uint64_t const> words, Record& record);

}  // namespace stepscope::tracer
