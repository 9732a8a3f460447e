#include "trace/file/codec/event_codec.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "trace/model/table_fields.h"

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
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

template <class T>
T from_bits(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  return static_cast<T>(bits);
}

/// Calls visit(table index, vector, fields tuple) for every detail table.
template <class Tables, class Visit>
void for_each_table(Tables& tables, Visit&& visit) {
  std::apply(
      [&](auto&... table) {
        int index = 0;
        (visit(index++, table,
               model::detail_fields<typename std::remove_cvref_t<decltype(table)>::value_type>),
         ...);
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

/// Rows of kinds that this version does not know are left out.
uint64_t drop_unknown_kinds(std::span<uint64_t const> kinds, EventBatch& batch) {
  size_t kept = 0;

  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] >= model::kKindCount) continue;
    batch.start[kept] = batch.start[i];
    batch.dur[kept] = batch.dur[i];
    batch.name[kept] = batch.name[i];
    batch.correlation[kept] = batch.correlation[i];
    batch.kind[kept] = static_cast<EventKind>(kinds[i]);
    ++kept;
  }

  batch.start.resize(kept);
  batch.dur.resize(kept);
  batch.name.resize(kept);
  batch.correlation.resize(kept);
  batch.kind.resize(kept);
  return kinds.size() - kept;
}

std::span<uint64_t> as_unsigned(std::span<int64_t> values) {
  return {reinterpret_cast<uint64_t*>(values.data()), values.size()};
}

}  // namespace

std::string_view detail_table_name(int table) {
  return model::kDetailTableNames[static_cast<size_t>(table)].in_files;
}

ColumnNames const& current_columns() {
  // Never destroyed: the tracer's writer thread runs until after the program's static objects are
  // gone.
  static ColumnNames const& names = *new ColumnNames([] {
    ColumnNames result;
    result.base.assign(kBaseNames.begin(), kBaseNames.end());

    model::DetailTables tables;
    for_each_table(tables, [&](int index, auto&, auto const& fields) {
      for_each_field(fields, [&](auto const& field) {
        result.details[static_cast<size_t>(index)].emplace_back(field.name);
      });
    });
    return result;
  }());
  return names;
}

void EventEncoder::encode(model::EventView const& events, base::ByteWriter& out) {
  columns_.clear();
  columns_.put_times(kBaseScope, kStart, kDur, events.start, events.dur);

  std::span<uint32_t> const names = names_.room(events.size());
  for (size_t i = 0; i < events.size(); ++i) names[i] = events.name[i].value;
  columns_.put_dictionary(kBaseScope, kName, names);

  std::span<uint64_t> const kinds = values_.room(events.size());
  for (size_t i = 0; i < events.size(); ++i) kinds[i] = to_bits(events.kind[i]);
  columns_.put(kBaseScope, kKind, kinds);
  columns_.put_sparse(kBaseScope, kCorrelation, events.correlation);

  for_each_table(events.details, [&](int index, auto const& table, auto const& fields) {
    if (table.empty()) return;
    std::span<uint64_t> const values = values_.room(table.size());
    uint8_t number = 0;
    for_each_field(fields, [&](auto const& field) {
      for (size_t i = 0; i < table.size(); ++i) values[i] = to_bits(table[i].*field.member);
      columns_.put(static_cast<uint8_t>(index + 1), number++, values);
    });
  });

  put_columns(columns_, out);
}

bool EventDecoder::decode(base::ByteSpan payload, uint32_t rows, ColumnNames const& names,
                          ColumnSelection const& wanted, EventBatch& batch,
                          uint64_t& unknown_rows) {
  batch.clear();
  if (rows > kMaxBlockRows || !columns_.parse(payload) ||
      !decode_base(rows, names, wanted, batch) || !decode_kinds(rows, names, batch, unknown_rows))
    return false;

  auto const counts = model::count_details(batch.kind);
  size_t number = 0;

  auto const make = [&]<class Row>(model::DetailColumn<Row>& table) {
    table.resize(counts[number++], Row{});
  };
  std::apply([&](auto&... table) { (make(table), ...); }, batch.details);

  return decode_details(names, wanted, {}, counts, batch.details);
}

bool EventDecoder::mark_names(base::ByteSpan payload, ColumnNames const& names,
                              std::span<char const> wanted, std::span<uint8_t> marks,
                              size_t& count) {
  return marks.size() <= kMaxBlockRows && columns_.parse(payload) &&
         columns_.mark(kBaseScope, column_number(names.base, kBaseNames[kName]), wanted, marks,
                       count);
}

bool EventDecoder::decode_rows(base::ByteSpan payload, ColumnNames const& names,
                               ColumnSelection const& wanted, model::RowSpans const& rows) {
  if (rows.size() > kMaxBlockRows || !columns_.parse(payload)) return false;

  auto const number = [&](BaseColumn column) {
    return column_number(names.base, kBaseNames[column]);
  };

  if (!wanted.correlation) std::fill(rows.correlation.begin(), rows.correlation.end(), 0);
  if (!wanted.name) std::fill(rows.name.begin(), rows.name.end(), model::StringId{0});
  if (!columns_.decode(kBaseScope, number(kDur), as_unsigned(rows.dur)) ||
      !columns_.decode(kBaseScope, number(kStart), as_unsigned(rows.start), rows.dur) ||
      (wanted.correlation &&
       !columns_.decode(kBaseScope, number(kCorrelation), rows.correlation)) ||
      (wanted.name && !decode_names(names, rows.name)))
    return false;

  std::span<uint8_t> const kinds(reinterpret_cast<uint8_t*>(rows.kind.data()), rows.size());
  if (!columns_.decode_bytes(kBaseScope, number(kKind), kinds)) return false;

  uint8_t highest = 0;
  for (uint8_t const kind : kinds) highest = std::max(highest, kind);
  return highest < model::kKindCount;
}

bool EventDecoder::decode_details(base::ByteSpan payload, ColumnNames const& names,
                                  ColumnSelection const& wanted, DetailCounts const& first,
                                  DetailCounts const& counts, model::DetailTables& tables) {
  return columns_.parse(payload) && decode_details(names, wanted, first, counts, tables);
}

bool EventDecoder::may_have_graphs(ColumnNames const& names) const {
  for (auto const table : {model::DetailTable::kKernels, model::DetailTable::kCopies,
                           model::DetailTable::kCollectives}) {
    auto const index = static_cast<size_t>(table);
    auto const alike = columns_.constant(static_cast<uint8_t>(index + 1),
                                         column_number(names.details[index], "graph"));
    if (alike != 0) return true;  // nor where it is not one number
  }
  return false;
}

bool EventDecoder::decode_base(uint32_t rows, ColumnNames const& names,
                               ColumnSelection const& wanted, EventBatch& batch) {
  auto const number = [&](BaseColumn column) {
    return column_number(names.base, kBaseNames[column]);
  };

  batch.start.resize(rows);
  batch.dur.resize(rows);
  batch.correlation.resize(rows);
  batch.name.assign(rows, model::StringId{0});

  if (!columns_.decode(kBaseScope, number(kDur), as_unsigned(batch.dur))) return false;
  if (!columns_.decode(kBaseScope, number(kStart), as_unsigned(batch.start), batch.dur))
    return false;
  if (wanted.correlation && !columns_.decode(kBaseScope, number(kCorrelation), batch.correlation))
    return false;
  return !wanted.name || decode_names(names, batch.name);
}

std::span<uint64_t> EventDecoder::values(size_t count) {
  if (values_.size() < count) values_.resize(count);
  return std::span(values_).first(count);
}

bool EventDecoder::decode_names(ColumnNames const& names, std::span<model::StringId> out) {
  static_assert(sizeof(model::StringId) == sizeof(uint32_t));
  std::span<uint32_t> const ids(reinterpret_cast<uint32_t*>(out.data()), out.size());
  return columns_.decode_ids(kBaseScope, column_number(names.base, kBaseNames[kName]), ids);
}

bool EventDecoder::decode_kinds(uint32_t rows, ColumnNames const& names, EventBatch& batch,
                                uint64_t& unknown_rows) {
  std::span<uint64_t> const kinds = values(rows);
  if (!columns_.decode(kBaseScope, column_number(names.base, kBaseNames[kKind]), kinds))
    return false;

  batch.kind.resize(rows);
  bool known = true;
  for (size_t i = 0; i < rows; ++i) {
    known = known && kinds[i] < model::kKindCount;
    batch.kind[i] = static_cast<EventKind>(kinds[i]);
  }

  if (!known) unknown_rows += drop_unknown_kinds(kinds, batch);
  return true;
}

bool EventDecoder::decode_details(ColumnNames const& names, ColumnSelection const& wanted,
                                  DetailCounts const& first, DetailCounts const& counts,
                                  model::DetailTables& tables) {
  bool good = true;

  for_each_table(tables, [&](int index, auto& table, auto const& fields) {
    auto const number = static_cast<size_t>(index);
    if (!good || counts[number] == 0 || (wanted.tables >> index & 1) == 0) return;
    auto const rows = std::span(table).subspan(first[number], counts[number]);
    good = decode_table(static_cast<uint8_t>(index + 1), names.details[number], fields, rows);
  });
  return good;
}

/// Most columns have one value in all rows. These are written together, a few rows at a time, so
/// that the rows are in the cache when the other columns follow.
template <class Row, class Fields>
bool EventDecoder::decode_table(uint8_t scope, std::vector<std::string> const& names,
                                Fields const& fields, std::span<Row> rows) {
  constexpr size_t kAlike = SIZE_MAX, kRowsAtOnce = 256;
  Row alike;

  std::array<size_t, std::tuple_size_v<Fields>>
      places{};  // in values_; kAlike: of a column with one value
  std::array<int, std::tuple_size_v<Fields>> numbers{};

  size_t column = 0, next = 0;
  for_each_field(fields, [&](auto const& field) {
    int const number = numbers[column] = column_number(names, field.name);
    auto& member = alike.*field.member;
    auto const constant = columns_.constant(scope, number);
    if (constant) member = from_bits<std::remove_cvref_t<decltype(member)>>(*constant);
    places[column++] = constant ? kAlike : next;
    next += constant ? 0 : rows.size();
  });

  std::span<uint64_t> const all = values(next);
  for (column = 0; column < places.size(); ++column)
    if (places[column] != kAlike &&
        !columns_.decode(scope, numbers[column], all.subspan(places[column], rows.size())))
      return false;

  for (size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    size_t const last = std::min(first + kRowsAtOnce, rows.size());
    std::fill(rows.begin() + static_cast<ptrdiff_t>(first),
              rows.begin() + static_cast<ptrdiff_t>(last), alike);
    column = 0;
    for_each_field(fields, [&](auto const& field) {
      size_t const place = places[column++];
      if (place == kAlike) return;
      for (size_t i = first; i < last; ++i) {
        auto& member = rows[i].*field.member;
        member = from_bits<std::remove_cvref_t<decltype(member)>>(all[place + i]);
      }
    });
  }
  return true;
}

}  // namespace stepscope::file
