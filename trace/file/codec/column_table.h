// A payload made of columns: varint count, the head of each, then their data in the same order. A
// column is found by its scope and number without touching the data of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/column_codec.h"

namespace stepscope::file {

/// Appends the payload of what `encoder` holds.
void put_columns(ColumnEncoder const& encoder, base::ByteWriter& out);

/// Reads such payloads, one after the other. Not thread-safe: one a thread. The payload must stay
/// where it is while it is used.
class ColumnTable {
 public:
  /// False when the payload does not split into columns without rest.
  bool parse(base::ByteSpan payload);
  [[nodiscard]] bool contains(uint8_t scope, int number) const {
    return find(scope, number) != nullptr;
  }
  /// The value that all rows of the column have, where it is stored once; 0 when there is no
  /// column.
  [[nodiscard]] std::optional<uint64_t> constant(uint8_t scope, int number) const;
  /// Fills `values` with the column; with zeros when there is none. `dur`: decoded durations, for
  /// starts. False when damaged.
  bool decode(uint8_t scope, int number, std::span<uint64_t> values,
              std::span<int64_t const> dur = {});
  /// ColumnDecoder's of these names; zeros when there is no column.
  bool decode_ids(uint8_t scope, int number, std::span<uint32_t> values);
  bool decode_bytes(uint8_t scope, int number, std::span<uint8_t> values);
  /// Marks the rows whose values are wanted (ColumnDecoder::mark). False when damaged.
  bool mark(uint8_t scope, int number, std::span<char const> wanted, std::span<uint8_t> marks,
            size_t& count);

 private:
  struct Entry {
    ColumnHead head;
    base::ByteSpan data;
  };
  [[nodiscard]] Entry const* find(uint8_t scope, int number) const;

  ColumnDecoder decoder_;
  std::vector<Entry> entries_;
};

}  // namespace stepscope::file
