#include "trace/import/formats/perfetto/annotation_json.h"

#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "trace/base/protobuf_reader.h"
#include "trace/import/formats/perfetto/fields.h"

namespace stepscope::import::perfetto {
namespace {

using base::ProtobufField;
using base::ProtobufReader;

/// Depth of arguments within arguments; deeper ones are left out.
constexpr int kMostDepth = 16;
/// No argument that is read is longer.
constexpr size_t kMostArgumentBytes = size_t{1} << 16U;

/// DebugAnnotation.NestedValue, which old versions write.
void write_nested(std::string& out, std::string_view nested, int depth) {
  using A = AnnotationNumber;
  std::vector<std::string_view> keys, values, items;
  size_t const begin = out.size();
  ProtobufReader reader(nested);
  ProtobufField field;

  while (reader.next(field)) {
    if (field.is_bytes(A::kKeys)) keys.push_back(field.bytes);
    if (field.is_bytes(A::kValues)) values.push_back(field.bytes);
    if (field.is_bytes(A::kOldItems)) items.push_back(field.bytes);

    if (out.size() != begin) continue;
    if (field.is_varint(A::kOldInt)) out += std::to_string(field.signed_value());
    if (field.number == A::kOldReal && field.type == base::WireType::kFixed64)
      write_real(out, field.real_value());
    if (field.is_varint(A::kOldBool)) out += field.value != 0 ? "true" : "false";
    if (field.is_bytes(A::kOldText)) out += fmt::format("\"{}\"", escaped(field.bytes));
  }
  if (out.size() != begin) return;

  bool const is_list = keys.empty();
  out += is_list ? '[' : '{';
  auto const& of = is_list ? items : values;

  for (size_t i = 0; i < of.size() && depth < kMostDepth && (is_list || i < keys.size()); ++i) {
    if (i > 0) out += ',';
    if (!is_list) out += fmt::format("\"{}\":", escaped(keys[i]));
    write_nested(out, of[i], depth + 1);
  }
  out += is_list ? ']' : '}';
}

/// The key of a dictionary's entry.
std::string key_of_entry(std::string_view annotation, AnnotationNames const& names) {
  using A = AnnotationNumber;
  std::string name;
  ProtobufReader reader(annotation);
  ProtobufField field;

  while (reader.next(field)) {
    if (field.is_bytes(A::kName)) name = escaped(field.bytes);
    if (!field.is_varint(A::kNameIid)) continue;
    if (JsonText const* const known = names.names.find(field.value)) name = known->text;
  }
  return name;
}

/// A number, a text or a NestedValue; nothing for other fields.
void write_value(std::string& out, ProtobufField const& field, AnnotationNames const& names,
                 int depth) {
  using A = AnnotationNumber;
  if (field.is_varint(A::kBool)) out += field.value != 0 ? "true" : "false";
  if (field.is_varint(A::kUnsigned) || field.is_varint(A::kPointer))
    out += std::to_string(field.value);
  if (field.is_varint(A::kSigned)) out += std::to_string(field.signed_value());
  if (field.number == A::kReal && field.type == base::WireType::kFixed64)
    write_real(out, field.real_value());

  if (field.is_bytes(A::kText) || field.is_bytes(A::kLegacyJson)) {
    out += '"';
    escape(out, field.bytes);
    out += '"';
  }
  if (field.is_varint(A::kTextIid)) {
    JsonText const* const known = names.texts.find(field.value);
    fmt::format_to(std::back_inserter(out), "\"{}\"", known == nullptr ? "" : known->text);
  }

  if (field.is_bytes(A::kNested)) write_nested(out, field.bytes, depth + 1);
}

}  // namespace

void escape(std::string& out, std::string_view text) {
  if (text.size() > kMostArgumentBytes) text = text.substr(0, kMostArgumentBytes);
  for (char const c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
}
std::string escaped(std::string_view text) {
  std::string out;
  escape(out, text);
  return out;
}

void write_us(std::string& out, int64_t ns) {
  if (ns < 0) out += '-';
  uint64_t const size =
      ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}.{:03}", size / 1000, size % 1000);
}

void write_real(std::string& out, double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(out), "{}", value);
  else
    out += "null";
}

void write_annotation(std::string& out, std::string_view annotation, AnnotationNames const& names,
                      int depth) {
  using A = AnnotationNumber;
  size_t const begin = out.size();
  char open = '\0';
  auto const add_item = [&](char bracket) {
    if (open == '\0' && out.size() != begin) return false;
    if (open == '\0')
      out += bracket;
    else
      out += ',';
    open = bracket;
    return true;
  };

  ProtobufReader reader(annotation);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.is_bytes(A::kItems) && depth < kMostDepth && open != '{') {
      if (add_item('[')) write_annotation(out, field.bytes, names, depth + 1);
      continue;
    }
    if (field.is_bytes(A::kEntries) && depth < kMostDepth && open != '[') {
      if (!add_item('{')) continue;
      fmt::format_to(std::back_inserter(out), "\"{}\":", key_of_entry(field.bytes, names));
      write_annotation(out, field.bytes, names, depth + 1);
      continue;
    }
    // The first value counts.
    if (out.size() == begin) write_value(out, field, names, depth);
  }

  if (open != '\0') out += open == '[' ? ']' : '}';
  if (out.size() == begin) out += "null";
}

}  // namespace stepscope::import::perfetto
