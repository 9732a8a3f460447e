#include "trace/file/event_codec.h"

#include <bit>
#include <type_traits>

#include "trace/file/column_codec.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

using model::EventBatch;
using model::EventKind;

enum BaseColumn : uint8_t { kStart = 0, kDur = 1, kName = 2, kKind = 3, kCorrelation = 4 };
constexpr std::array<char const*, 5> kBaseNames = {"start", "dur", "name", "kind", "correlation"};
constexpr uint8_t kBaseScope = 0;  // detail table t has scope t + 1

template <class T>
uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(value);
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

template <class T>
T from_bits(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  return static_cast<T>(bits);
}

void put_column(uint8_t scope, uint8_t number, std::span<uint64_t const> values, base::ByteWriter& out) {
  out.put(scope);
  out.put(number);
  encode_column(values, out);
}

/// Calls visit(table index, vector, fields tuple) for every detail table.
template <class Tables, class Visit>
void for_each_table(Tables& tables, Visit&& visit) {
  std::apply(
      [&](auto&... table) {
        int index = 0;
        (visit(index++, table, model::detail_fields<typename std::remove_cvref_t<decltype(table)>::value_type>), ...);
      },
      tables);
}

/// Calls visit(field) for every field of a fields tuple.
template <class Fields, class Visit>
void for_each_field(Fields const& fields, Visit&& visit) {
  std::apply([&](auto const&... field) { (visit(field), ...); }, fields);
}

/// Number that a name has in a file, or -1.
int column_number(std::vector<std::string> const& names, std::string_view name) {
  for (size_t i = 0; i < names.size() && i < 256; ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

/// The columns of a payload, found by (scope, number); the bytes after the two are still encoded.
class ColumnDirectory {
 public:
  /// False when the payload does not split into columns without rest.
  bool parse(base::ByteSpan payload) {
    base::ByteReader in(payload);
    while (in.remaining() > 0) {
      auto const scope = in.get<uint8_t>();
      auto const number = in.get<uint8_t>();
      size_t const begin = in.position();
      if (!skip_column(in)) return false;
      columns_.push_back({scope, number, payload.subspan(begin, in.position() - begin)});
    }
    return in.ok();
  }
  /// Decodes a column of `count` rows; zeros when the payload has none. False when damaged.
  bool decode(uint8_t scope, int number, size_t count, std::vector<uint64_t>& values) const {
    for (Entry const& entry : columns_) {
      if (entry.scope != scope || entry.number != number) continue;
      base::ByteReader in(entry.bytes);
      return decode_column(in, count, values);
    }
    values.assign(count, 0);
    return true;
  }

 private:
  struct Entry {
    uint8_t scope, number;
    base::ByteSpan bytes;
  };
  std::vector<Entry> columns_;
};

/// Drops rows of kinds that this version does not know.
uint64_t drop_unknown_kinds(std::vector<uint64_t> const& kinds, EventBatch& batch) {
  size_t kept = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] >= model::kKindCount) continue;
    batch.start[kept] = batch.start[i];
    batch.dur[kept] = batch.dur[i];
    batch.name[kept] = batch.name[i];
    batch.correlation[kept] = batch.correlation[i];
    batch.kind.push_back(static_cast<EventKind>(kinds[i]));
    ++kept;
  }
  batch.start.resize(kept);
  batch.dur.resize(kept);
  batch.name.resize(kept);
  batch.correlation.resize(kept);
  return kinds.size() - kept;
}

template <class To>
void assign_bits(std::vector<uint64_t> const& from, std::vector<To>& to) {
  to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = from_bits<To>(from[i]);
}

}  // namespace

std::string_view detail_table_name(int table) {
  static constexpr std::array<std::string_view, model::kDetailTableCount> kNames = {
      "steps", "kernels", "copies", "collectives", "stream_waits", "syncs", "memory", "samples"};
  return kNames[static_cast<size_t>(table)];
}

ColumnNames const& current_columns() {
  // Never destroyed: the tracer's writer thread runs until after the program's static objects are gone.
  static ColumnNames const& names = *new ColumnNames([] {
    ColumnNames result;
    result.base.assign(kBaseNames.begin(), kBaseNames.end());
    model::DetailTables tables;
    for_each_table(tables, [&](int index, auto&, auto const& fields) {
      for_each_field(fields, [&](auto const& field) { result.details[static_cast<size_t>(index)].emplace_back(field.name); });
    });
    return result;
  }());
  return names;
}

void encode_events(EventBatch const& batch, base::ByteWriter& out) {
  std::vector<uint64_t> values(batch.size());
  auto const put = [&](BaseColumn number, auto const& column) {
    for (size_t i = 0; i < column.size(); ++i) values[i] = to_bits(column[i]);
    put_column(kBaseScope, number, values, out);
  };
  put(kStart, batch.start);
  put(kDur, batch.dur);
  for (size_t i = 0; i < batch.size(); ++i) values[i] = batch.name[i].value;
  put_column(kBaseScope, kName, values, out);
  put(kKind, batch.kind);
  put(kCorrelation, batch.correlation);
  for_each_table(batch.details, [&](int index, auto const& table, auto const& fields) {
    if (table.empty()) return;
    values.resize(table.size());
    uint8_t number = 0;
    for_each_field(fields, [&](auto const& field) {
      for (size_t i = 0; i < table.size(); ++i) values[i] = to_bits(table[i].*field.member);
      put_column(static_cast<uint8_t>(index + 1), number++, values, out);
    });
  });
}

bool decode_events(base::ByteSpan payload, uint32_t rows, ColumnNames const& names, EventBatch& batch, uint64_t& unknown_rows) {
  if (rows > kMaxBlockRows) return false;
  ColumnDirectory directory;
  if (!directory.parse(payload)) return false;
  std::vector<uint64_t> values;
  auto const base = [&](BaseColumn column) {
    return directory.decode(kBaseScope, column_number(names.base, kBaseNames[column]), rows, values);
  };
  batch.clear();
  if (!base(kStart)) return false;
  assign_bits(values, batch.start);
  if (!base(kDur)) return false;
  assign_bits(values, batch.dur);
  if (!base(kCorrelation)) return false;
  assign_bits(values, batch.correlation);
  if (!base(kName)) return false;
  batch.name.resize(rows);
  for (size_t i = 0; i < rows; ++i) batch.name[i] = model::StringId{static_cast<uint32_t>(values[i])};
  if (!base(kKind)) return false;
  unknown_rows += drop_unknown_kinds(values, batch);

  std::array<size_t, model::kDetailTableCount> counts{};
  for (EventKind const kind : batch.kind) {
    auto const table = static_cast<int>(model::kind_info(kind).table);
    if (table >= 0) ++counts[static_cast<size_t>(table)];
  }
  bool good = true;
  for_each_table(batch.details, [&](int index, auto& table, auto const& fields) {
    size_t const count = counts[static_cast<size_t>(index)];
    table.resize(count);
    if (count == 0) return;
    for_each_field(fields, [&](auto const& field) {
      int const number = column_number(names.details[static_cast<size_t>(index)], field.name);
      good = good && directory.decode(static_cast<uint8_t>(index + 1), number, count, values);
      if (!good) return;
      for (size_t i = 0; i < count; ++i) {
        auto& member = table[i].*field.member;
        member = from_bits<std::remove_cvref_t<decltype(member)>>(values[i]);
      }
    });
  });
  return good;
}

}  // namespace stepscope::file
