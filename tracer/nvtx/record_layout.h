// What a record in a ring looks like: header, ticks, then what its flags say, in the order of the flags; 8-byte words.
//   kHasRangeId 1 word · kHasCategory 1 word (category, type of the value) · kHasValue 1 word · kHasHandle 1 word ·
//   kHasText ⌈text_bytes / 8⌉ words · kHasPayloads, to the record's end: schema id, (copied bytes, original bytes), the bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "trace/base/bytes.h"
#include "tracer/core/ring.h"

namespace stepscope::tracer {

enum class RecordType : uint8_t { kPadding = kPaddingRecord, kPush = 1, kPop = 2, kMark = 3, kStart = 4, kEnd = 5 };

/// RecordHeader::flags.
inline constexpr uint8_t kHasRangeId = 1;
inline constexpr uint8_t kHasCategory = 2;
inline constexpr uint8_t kHasValue = 4;
inline constexpr uint8_t kHasHandle = 8;
inline constexpr uint8_t kHasText = 16;
inline constexpr uint8_t kHasPayloads = 32;
inline constexpr uint8_t kPayloadLost = 64;  ///< the ring had room for the end of the range but not for its payload

/// Longer names are cut here, as a ring must hold many records.
inline constexpr size_t kMaxTextBytes = 4096;
/// Bytes of all payloads of one event; what is longer is cut.
inline constexpr size_t kMaxPayloadBytes = 4096;
inline constexpr size_t kMaxPayloads = 8;
/// Domains told apart; later ones share the last number.
inline constexpr uint16_t kMaxDomains = 1024;

/// A payload as a callback hands it over, or as the decoder finds it in a record. Without initializers: a callback has room for
/// kMaxPayloads of them and uses one.
struct PayloadView {
  uint64_t schema;
  std::byte const* data;
  uint32_t size;
  uint32_t original_bytes;  ///< before it was cut

  [[nodiscard]] base::ByteSpan bytes() const { return {data, size}; }
};

/// How an event's numeric value is to be read.
enum class ValueType : uint32_t { kNone = 0, kUint64 = 1, kInt64 = 2, kDouble = 3, kUint32 = 4, kInt32 = 5, kFloat = 6 };

/// The value as an integer, whatever type it was given as: a step's index.
int64_t integer_value(ValueType type, uint64_t value);

/// An event as a callback hands it over. Views live through the call only.
struct EventArgs {
  uint16_t domain = 0;
  ValueType value_type = ValueType::kNone;
  uint32_t category = 0;
  uint64_t value = 0;
  uint32_t handle = 0;  ///< of a registered string; 0 = none, then `text`
  std::string_view text;
  std::span<PayloadView const> payloads;
};

constexpr uint32_t words_for(size_t bytes) { return static_cast<uint32_t>((bytes + 7) / 8); }

}  // namespace stepscope::tracer
