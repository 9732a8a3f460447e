// The layout of binary payloads as programs register it (nvtxPayloadSchemaRegister), and reading
// fields by name from untrusted bytes: a program with more fields, or in another order, works as
// well.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trace/base/bytes.h"

namespace stepscope::tracer {

enum class ScalarType : uint8_t { kUnsigned, kSigned, kReal };

/// One scalar; other entries (arrays, texts, nested schemas) are passed over.
struct SchemaField {
  std::string name;
  uint64_t offset = 0;
  uint8_t bytes = 0;  ///< 1, 2, 4 or 8
  ScalarType type = ScalarType::kUnsigned;
};

struct Schema {
  std::string name;
  std::vector<SchemaField> fields;
  uint64_t static_bytes = 0;  ///< 0 = unknown
};

/// Reads the fields of one payload. Fields that the schema lacks or that lie outside the bytes give
/// the fallback.
class FieldReader {
 public:
  FieldReader(Schema const& schema, base::ByteSpan bytes) : schema_(schema), bytes_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> T get(std::string_view name, T fallback = {}) {
    SchemaField const* const field = find(name);
    if (field == nullptr || field->offset > bytes_.size() ||
        field->bytes > bytes_.size() - field->offset)
      return fallback;
    std::byte const* const at = bytes_.data() + field->offset;
    if (field->type == ScalarType::kReal)
      return static_cast<T>(field->bytes == 4 ? load<float>(at) : load<double>(at));
    uint64_t raw = 0;
    std::memcpy(&raw, at, field->bytes);  // little-endian
    unsigned const unused_bits = 64U - 8U * field->bytes;
    if (field->type == ScalarType::kUnsigned) return static_cast<T>(raw);
    return static_cast<T>(static_cast<int64_t>(raw << unused_bits) >> unused_bits);
  }

 private:
  template <class T>
  static T load(std::byte const* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  SchemaField const* find(std::string_view name);

  Schema const& schema_;
  base::ByteSpan bytes_;
  size_t next_ = 0;  ///< fields are mostly asked for in their order
};

}  // namespace stepscope::tracer
