// What a record in a ring looks like, in 8-byte words.
//
// Compact, most events by far: one word of ticks and tag. A push goes on with the handle of its
// name, or with its characters, at least one of them 0, in as many words as they need. A range
// named "forward" takes three words. General, all others: header, ticks, then what its flags say,
// in the order of the flags:
//   kHasRangeId 1 word · kHasCategory 1 word (category, type of the value) · kHasValue 1 word ·
//   kHasColor 1 word · kHasHandle 1 word · kHasText ⌈text_bytes / 8⌉ words · kHasPayloads, to the
//   record's end: schema id, (copied bytes, original bytes), the bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "trace/base/bytes.h"
#include "tracer/core/ring.h"

namespace stepscope::tracer {

enum class RecordType : uint8_t {
  kPadding = kPaddingRecord,
  kPush = 1,
  kPop = 2,
  kMark = 3,
  kStart = 4,
  kEnd = 5
};

// A compact record's first word is ticks << 8 | tag. The tag is where other records have their
// type, which never has this bit.
inline constexpr uint8_t kCompact = 0x80;
inline constexpr uint8_t kCompactPop = 0x40;     ///< else a push
inline constexpr uint8_t kCompactHandle = 0x20;  ///< of a push: its name is a handle
/// The rest of the tag: domains from here on are written as general records.
inline constexpr uint16_t kCompactDomains = 0x20;
/// Most words of text; longer names are written as general records.
inline constexpr uint32_t kMaxCompactTextWords = 16;

constexpr bool is_compact(uint64_t first_word) { return (first_word & kCompact) != 0; }
constexpr uint16_t compact_domain(uint64_t first_word) {
  return first_word & (kCompactDomains - 1);
}
constexpr uint64_t compact_word(int64_t ticks, unsigned tag) {
  return static_cast<uint64_t>(ticks) << 8 | tag;
}
/// The ticks of a compact record: of those with its 56 bits the nearest to `near` (2^55 ticks are
/// five months at 2.6 GHz).
constexpr int64_t compact_ticks(uint64_t first_word, int64_t near) {
  uint64_t const difference = (first_word & ~uint64_t{0xFF}) - (static_cast<uint64_t>(near) << 8);
  return near + (static_cast<int64_t>(difference) >> 8);
}
/// Bit 7 of the lowest byte that is zero is set and no bit below; 0 = no byte is zero.
constexpr uint64_t lowest_zero_byte(uint64_t word) {
  uint64_t const zeros = (word - 0x0101'0101'0101'0101) & ~word & 0x8080'8080'8080'8080;
  return zeros & (0 - zeros);
}

/// Ids of start/end ranges are (recorder's number + 1) << kRangeNumberShift | count: 2^40 ranges a
/// thread, 2^23 threads.
inline constexpr int kRangeNumberShift = 40;

/// The "range id" of a push or pop on a deep level. It has the level and, in the upper half, from
/// which level on the pops of earlier ranges were lost (kNoLevel = no level).
inline constexpr int32_t kNoLevel = INT32_MAX;
constexpr uint64_t deep_id(int32_t level, int32_t lost_from) {
  return static_cast<uint32_t>(level) | uint64_t{static_cast<uint32_t>(lost_from)} << 32;
}
constexpr int32_t deep_level(uint64_t id) {
  return static_cast<int32_t>(static_cast<uint32_t>(id));
}
constexpr int32_t deep_lost_from(uint64_t id) { return static_cast<int32_t>(id >> 32); }

/// RecordHeader::flags.
inline constexpr uint8_t kHasRangeId = 1;
inline constexpr uint8_t kHasCategory = 2;
inline constexpr uint8_t kHasValue = 4;
inline constexpr uint8_t kHasHandle = 8;
inline constexpr uint8_t kHasText = 16;
inline constexpr uint8_t kHasPayloads = 32;
inline constexpr uint8_t kHasColor = 128;
inline constexpr uint8_t kPayloadLost =
    64;  ///< the ring had room for the end of the range but not for its payload

/// Longer names are cut here, as a ring must hold many records.
inline constexpr size_t kMaxTextBytes = 4096;
/// Bytes of all payloads of one event; what is longer is cut.
inline constexpr size_t kMaxPayloadBytes = 4096;
inline constexpr size_t kMaxPayloads = 8;
/// Domains told apart; later ones share the last number.
inline constexpr uint16_t kMaxDomains = 1024;

/// A payload as a callback hands it over, or as the decoder finds it in a record. Without
/// initializers: a callback has room for kMaxPayloads of them and uses one.
struct PayloadView {
  uint64_t schema;
  std::byte const* data;
  uint32_t size;
  uint32_t original_bytes;  ///< before it was cut

  [[nodiscard]] base::ByteSpan bytes() const { return {data, size}; }
};

/// How an event's numeric value is to be read.
enum class ValueType : uint32_t {
  kNone = 0,
  kUint64 = 1,
  kInt64 = 2,
  kDouble = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat = 6
};

/// The value as an integer, whatever type it was given as: a step's index.
int64_t integer_value(ValueType type, uint64_t value);

/// An event as a callback hands it over. Views live through the call only.
struct EventArgs {
  uint16_t domain = 0;
  ValueType value_type = ValueType::kNone;
  uint32_t category = 0;
  uint64_t value = 0;
  uint32_t color = 0;   ///< ARGB; 0 = none
  uint32_t handle = 0;  ///< of a registered string; 0 = none, then `text`
  std::string_view text;
  std::span<PayloadView const> payloads;
};

constexpr uint32_t words_for(size_t bytes) { return static_cast<uint32_t>((bytes + 7) / 8); }

}  // namespace stepscope::tracer
