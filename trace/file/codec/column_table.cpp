#include "trace/file/codec/column_table.h"

#include <algorithm>

namespace stepscope::file {

void put_columns(ColumnEncoder const& encoder, base::ByteWriter& out) {
  out.put_varint(encoder.count());
  out.put_bytes(encoder.heads());
  out.put_bytes(encoder.data());
}

bool ColumnTable::parse(base::ByteSpan payload) {
  base::ByteReader in(payload);
  uint64_t const count = in.get_varint();
  if (count > in.remaining()) return false;
  entries_.resize(count);
  for (Entry& entry : entries_)
    if (!get_column_head(in, entry.head)) return false;
  for (Entry& entry : entries_) entry.data = in.get_bytes(entry.head.data_bytes());
  return in.ok() && in.remaining() == 0;
}

ColumnTable::Entry const* ColumnTable::find(uint8_t scope, int number) const {
  auto const found = std::find_if(entries_.begin(), entries_.end(), [&](Entry const& entry) {
    return entry.head.scope == scope && entry.head.number == number;
  });
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<uint64_t> ColumnTable::constant(uint8_t scope, int number) const {
  Entry const* const entry = find(scope, number);
  if (entry == nullptr) return 0;
  return entry->head.coding == ColumnCoding::kConstant ? std::optional(entry->head.base)
                                                       : std::nullopt;
}

bool ColumnTable::decode(uint8_t scope, int number, std::span<uint64_t> values,
                         std::span<int64_t const> dur) {
  Entry const* const entry = find(scope, number);
  if (entry != nullptr) return decoder_.decode(entry->head, entry->data, dur, values);
  std::fill(values.begin(), values.end(), 0);
  return true;
}

bool ColumnTable::decode_ids(uint8_t scope, int number, std::span<uint32_t> values) {
  Entry const* const entry = find(scope, number);
  if (entry != nullptr) return decoder_.decode_ids(entry->head, entry->data, values);
  std::fill(values.begin(), values.end(), 0U);
  return true;
}

bool ColumnTable::decode_bytes(uint8_t scope, int number, std::span<uint8_t> values) {
  Entry const* const entry = find(scope, number);
  if (entry != nullptr) return decoder_.decode_bytes(entry->head, entry->data, values);
  std::fill(values.begin(), values.end(), uint8_t{0});
  return true;
}

bool ColumnTable::mark(uint8_t scope, int number, std::span<char const> wanted,
                       std::span<uint8_t> marks, size_t& count) {
  Entry const* const entry = find(scope, number);
  // A column that is not there has zeros.
  ColumnHead const zeros{scope, static_cast<uint8_t>(number)};
  return entry != nullptr ? decoder_.mark(entry->head, entry->data, wanted, marks, count)
                          : decoder_.mark(zeros, {}, wanted, marks, count);
}

}  // namespace stepscope::file
