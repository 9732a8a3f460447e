// Elements of rocprofv3's JSON. What an element does not state, or states as something else, keeps
// its default. The cursor fails where the text ends or is no JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/common/json/cursor.h"
#include "trace/import/formats/rocprofv3/record.h"

namespace stepscope::import::rocm {

/// Calls visit() for each element of the array that stands here; visit consumes the element. False
/// when the cursor fails. Another value than an array is skipped.
template <class Visit>
bool for_each_element(JsonCursor& cursor, Visit&& visit) {
  if (cursor.peek() != '[') {
    cursor.value();
    return !cursor.failed();
  }
  cursor.take('[');
  if (cursor.take(']')) return true;

  for (;;) {
    visit();
    if (cursor.failed()) return false;
    if (cursor.take(']')) return true;
    if (!cursor.expect(',')) return false;
  }
}

/// JsonCursor::object() that skips other values.
template <class Visit>
bool for_each_member(JsonCursor& cursor, Visit&& visit) {
  if (cursor.peek() == '{') return cursor.object(visit);
  cursor.value();
  return !cursor.failed();
}

/// A member of an object, its value as it stands. The last may be cut.
using JsonMembers = std::vector<std::pair<std::string_view, std::string_view>>;
/// The first 256 members.
JsonMembers members_of(JsonCursor& cursor);

/// A number, or one in quotes: "0x7f00".
std::optional<uint64_t> read_number(JsonCursor& cursor);
/// The text of a string, at most the first `most` bytes; empty for other values.
std::string read_text(JsonCursor& cursor, size_t most);
/// A kernel, copy, call, range or allocation, and a dispatch whose counters were collected.
Record read_record(JsonCursor& cursor);
Agent read_agent(JsonCursor& cursor);

struct KernelSymbol {
  std::optional<uint64_t> id;
  std::string name;
  uint32_t registers = 0;
};
KernelSymbol read_symbol(JsonCursor& cursor);

/// Who recorded what: the member "metadata".
struct CaptureMetadata {
  std::string host, command;
  uint64_t process_id = 0;
};
CaptureMetadata read_metadata(JsonCursor& cursor);

/// Names of operations by kind, and texts of ROCTX: the member "strings".
struct CaptureStrings {
  struct Kind {
    std::string name;
    std::vector<std::string_view> operations;  ///< with escapes
  };
  std::vector<Kind> kinds;
  std::unordered_map<uint64_t, std::string_view, base::HashNumber>
      messages;  ///< by correlation, with escapes

  /// Empty where the file does not say.
  [[nodiscard]] std::string_view operation(Record const& record) const;
};
CaptureStrings read_strings(JsonCursor& cursor);

}  // namespace stepscope::import::rocm
