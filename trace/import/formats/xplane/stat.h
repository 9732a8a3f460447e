// One stat of an event, a plane or a kind of event, as it stands in the file.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/base/protobuf_reader.h"

namespace stepscope::import {

struct RawStat {
  enum class Type : uint8_t {
    kNone = 0,
    kReal = 2,
    kUnsigned = 3,
    kSigned = 4,
    kText = 5,
    kBytes = 6,
    kReference = 7
  };
  int64_t metadata_id = 0;
  Type type = Type::kNone;
  base::ProtobufField value;

  /// Nothing when it is no number, or a real one beyond the integers.
  [[nodiscard]] std::optional<int64_t> integer() const {
    if (type == Type::kUnsigned || type == Type::kSigned) return value.signed_value();
    if (type == Type::kText) {
      int64_t number = 0;
      auto const [end, error] =
          std::from_chars(value.bytes.data(), value.bytes.data() + value.bytes.size(), number);
      if (error == std::errc() && end == value.bytes.data() + value.bytes.size()) return number;
      return std::nullopt;
    }

    constexpr double kMost = 9e18;
    if (type == Type::kReal && std::fabs(value.real_value()) < kMost)
      return static_cast<int64_t>(value.real_value());
    return std::nullopt;
  }
  /// Nothing when it is no finite number.
  [[nodiscard]] std::optional<double> real() const {
    if (type == Type::kReal)
      return std::isfinite(value.real_value()) ? std::optional(value.real_value()) : std::nullopt;
    if (type == Type::kUnsigned) return static_cast<double>(value.value);
    if (type == Type::kSigned) return static_cast<double>(value.signed_value());
    return std::nullopt;
  }
};

/// The fields of a stat that can be read; others keep their defaults.
inline RawStat read_stat(std::string_view message) {
  RawStat stat;
  base::ProtobufReader reader(message);
  base::ProtobufField field;
  while (reader.next(field)) {
    using base::WireType;
    using Type = RawStat::Type;
    if (field.is_varint(1)) {
      stat.metadata_id = field.signed_value();
      continue;
    }

    constexpr uint32_t kFirst = 2, kLast = 7;
    if (field.number < kFirst || field.number > kLast || field.is_cut) continue;
    auto const type = static_cast<Type>(field.number);

    bool const is_bytes = type == Type::kText || type == Type::kBytes;
    WireType const expected = is_bytes ? WireType::kBytes : WireType::kVarint;
    if (field.type != (type == Type::kReal ? WireType::kFixed64 : expected)) continue;

    stat.type = type;
    stat.value = field;
  }

  return stat;
}

}  // namespace stepscope::import
