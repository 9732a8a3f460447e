// Details of an event in exports, beyond its name and times: the fields of its detail row that are
// not at their defaults.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "trace/base/format.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

/// Longer names are cut, and end with an ellipsis: formats repeat them, other tools draw them.
inline constexpr size_t kMostNameBytes = 16'000;
inline std::string bounded_name(std::string_view name) {
  std::string text = base::valid_utf8(name, kMostNameBytes);
  return name.size() > kMostNameBytes ? text + "…" : text;
}

inline char const* to_text(model::MemoryOp op) {
  if (op == model::MemoryOp::kAllocate) return "allocate";
  return op == model::MemoryOp::kFree ? "free" : "unknown";
}
template <class Enum>
requires std::is_enum_v<Enum>
char const* to_text(Enum value) { return model::to_string(value); }

/// Numbers as uint64_t, int64_t or double, enumerations as char const*.
template <class Value>
auto exported_value(Value value) {
  if constexpr (std::is_enum_v<Value>)
    return to_text(value);
  else if constexpr (std::is_floating_point_v<Value>)
    return static_cast<double>(value);
  else if constexpr (std::is_signed_v<Value>)
    return static_cast<int64_t>(value);
  else
    return static_cast<uint64_t>(value);
}

/// Where the names of a table's fields begin among those of all tables.
template <class Row, class... Rows>
constexpr size_t first_field_of(std::tuple<model::DetailColumn<Rows>...> const*) {
  size_t first = 0;
  bool found = false;
  ((found = found || std::is_same_v<Row, Rows>,
    first += found ? 0 : std::tuple_size_v<decltype(model::detail_fields<Rows>)>),
   ...);
  return first;
}
template <class Row>
inline constexpr size_t kFirstField =
    first_field_of<Row>(static_cast<model::DetailTables const*>(nullptr));

template <class... Rows>
constexpr size_t count_fields(std::tuple<model::DetailColumn<Rows>...> const*) {
  return (std::tuple_size_v<decltype(model::detail_fields<Rows>)> + ...);
}
/// The count of the fields of all tables.
inline constexpr size_t kFieldCount =
    count_fields(static_cast<model::DetailTables const*>(nullptr));

/// Calls visit(number among the fields of all tables, name).
template <class Visit, class... Rows>
void for_each_field(Visit&& visit, std::tuple<model::DetailColumn<Rows>...> const*) {
  size_t number = 0;
  auto const of_table = [&](auto const&... fields) { (visit(number++, fields.name), ...); };
  (std::apply(of_table, model::detail_fields<Rows>), ...);
}
template <class Visit>
void for_each_field(Visit&& visit) {
  for_each_field(visit, static_cast<model::DetailTables const*>(nullptr));
}

/// Calls visit(number among the fields of all tables, name, value) for each field of the row that
/// is not at its default. The number of a step is visited always.
template <class Row, class Visit>
void visit_fields(Row const& row, Visit&& visit) {
  static constexpr Row kOtherwise{};
  size_t number = kFirstField<Row>;

  auto const one = [&](auto const& field) {
    size_t const own = number++;
    auto const value = row.*field.member;
    if (value == kOtherwise.*field.member && !std::is_same_v<Row, model::StepDetail>) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, model::NumberType>) {
      return;  // is seen in the payload itself
    } else {
      visit(own, field.name, exported_value(value));
    }
  };

  if constexpr (std::is_same_v<Row, model::RangeDetail>) {
    // The payload's bits are a number of the type in the next field.
    if (row.payload_type != model::NumberType::kNone) {
      constexpr size_t kPayload = kFirstField<Row> + 3;
      static_assert(std::get<3>(model::detail_fields<Row>).member == &model::RangeDetail::payload);
      if (row.payload_type == model::NumberType::kReal)
        visit(kPayload, "payload", std::bit_cast<double>(row.payload));
      if (row.payload_type == model::NumberType::kUnsigned) visit(kPayload, "payload", row.payload);
      if (row.payload_type == model::NumberType::kSigned)
        visit(kPayload, "payload", static_cast<int64_t>(row.payload));

      model::RangeDetail rest = row;
      rest.payload = 0;
      rest.payload_type = model::NumberType::kNone;
      return visit_fields(rest, visit);
    }
  }

  std::apply([&](auto const&... fields) { (one(fields), ...); }, model::detail_fields<Row>);
}

/// visit_fields() for an event of a trace of any kind. A sample's value is not visited.
template <class Visit>
void visit_details(model::Trace const& trace, uint32_t row, Visit&& visit) {
  trace.visit_detail(row, [&]<class Row>(Row const& detail) {
    if constexpr (!std::is_same_v<Row, model::SampleDetail>) visit_fields(detail, visit);
  });
}

/// Whether a launch and a device op are each other's: a launch of many ops is linked to its first.
inline bool is_linked_both_ways(model::Trace const& trace, uint32_t row) {
  model::EventId const other = trace.columns().link[row];
  return other.valid() && trace.columns().link[other.value].value == row;
}

}  // namespace stepscope::exporting
