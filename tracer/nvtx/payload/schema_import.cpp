#include "tracer/nvtx/payload/schema_import.h"

#include <algorithm>
#include <optional>

namespace stepscope::tracer {
namespace {

/// Entries beyond this are not read: no struct is as wide, a damaged count is.
constexpr size_t kMaxEntries = 4096;
constexpr size_t kMaxNameBytes = 256;

struct TypeLayout {
  uint64_t bytes = 0;
  uint64_t align = 1;
  std::optional<ScalarType> scalar;
};

template <class T>
TypeLayout layout_of(ScalarType type) {
  return {sizeof(T), alignof(T), type};
}

std::optional<TypeLayout> signed_layout(uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
      return layout_of<int8_t>(ScalarType::kSigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
      return layout_of<int16_t>(ScalarType::kSigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
      return layout_of<int32_t>(ScalarType::kSigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return layout_of<int64_t>(ScalarType::kSigned);
    default:
      return {};
  }
}

std::optional<TypeLayout> unsigned_layout(uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
      return layout_of<uint8_t>(ScalarType::kUnsigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
      return layout_of<uint16_t>(ScalarType::kUnsigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return layout_of<uint32_t>(ScalarType::kUnsigned);
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      return layout_of<uint64_t>(ScalarType::kUnsigned);
    default:
      return {};
  }
}

std::optional<TypeLayout> scalar_layout(uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
      return layout_of<float>(ScalarType::kReal);
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
      return layout_of<double>(ScalarType::kReal);
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
      return TypeLayout{sizeof(long double), alignof(long double), {}};
    default:
      break;
  }
  if (auto const layout = signed_layout(type)) return layout;
  return unsigned_layout(type);
}

/// Nothing when the entry's size is unknown.
std::optional<TypeLayout> entry_layout(nvtxPayloadSchemaEntry_t const& entry,
                                       FindSchema const& find) {
  if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0)
    return TypeLayout{sizeof(void*), alignof(void*), {}};
  if (entry.type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING &&
      entry.type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32) {
    // A text with a length lies in the struct, one without is a pointer.
    if (entry.arrayOrUnionDetail == 0) return TypeLayout{sizeof(char*), alignof(char*), {}};
    return entry.type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8
               ? std::optional(TypeLayout{entry.arrayOrUnionDetail, 1, {}})
               : std::nullopt;
  }

  std::optional<TypeLayout> layout = scalar_layout(entry.type);
  if (!layout) {
    auto const nested = find(entry.type);
    if (!nested || nested->static_bytes == 0) return {};
    layout = TypeLayout{nested->static_bytes, alignof(uint64_t), {}};
  }

  uint64_t const array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags);
  if (array == 0) return layout;
  layout->scalar.reset();
  if (array != NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) return {};
  if (layout->bytes != 0 && entry.arrayOrUnionDetail > UINT32_MAX / layout->bytes) return {};
  layout->bytes *= entry.arrayOrUnionDetail;
  return layout;
}

std::string clipped(char const* text) {
  return text == nullptr ? std::string() : std::string(text, ::strnlen(text, kMaxNameBytes));
}

}  // namespace

Schema import_schema(nvtxPayloadSchemaAttr_t const& attributes, FindSchema const& find) {
  auto const has = [&](uint64_t field) { return (attributes.fieldMask & field) != 0; };

  Schema schema;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME)) schema.name = clipped(attributes.name);
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE))
    schema.static_bytes = attributes.payloadStaticSize;
  if (!has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES) || attributes.entries == nullptr) return schema;
  if (attributes.type != NVTX_PAYLOAD_SCHEMA_TYPE_STATIC)
    return schema;  // other layouts depend on the data

  uint64_t const pack = has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) && attributes.packAlign != 0
                            ? attributes.packAlign
                            : alignof(std::max_align_t);
  uint64_t end = 0;
  bool end_known = true;
  size_t const count = std::min(attributes.numEntries, kMaxEntries);

  for (size_t i = 0; i < count; ++i) {
    nvtxPayloadSchemaEntry_t const& entry = attributes.entries[i];
    auto const layout = entry_layout(entry, find);
    if (i != 0 && entry.offset == 0 && !end_known) continue;
    uint64_t offset = entry.offset;
    if (offset == 0 && layout) {
      uint64_t const align = std::max<uint64_t>(1, std::min(layout->align, pack));
      offset = (end + align - 1) / align * align;
    }
    end_known = layout.has_value();
    if (!layout) continue;
    end = offset + layout->bytes;
    if (layout->scalar)
      schema.fields.push_back(
          {clipped(entry.name), offset, static_cast<uint8_t>(layout->bytes), *layout->scalar});
  }

  if (schema.static_bytes == 0 && end_known) schema.static_bytes = end;
  return schema;
}

}  // namespace stepscope::tracer
