#include "trace/columns/files/arrow_messages.h"

#include <array>

#include <flatbuffers/flatbuffer_builder.h>

namespace stepscope::columns {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::uoffset_t;
using flatbuffers::Vector;
using Table = Offset<void>;

// Numbers of the format's unions and enumerations.
constexpr int16_t kVersion5 = 4, kDoublePrecision = 2;
enum TypeNumber : uint8_t { kIntType = 2, kFloatingPointType = 3, kUtf8Type = 5 };
enum HeaderNumber : uint8_t { kSchemaHeader = 1, kDictionaryHeader = 2, kBatchHeader = 3 };

/// The fields of a table by their places in its schema.
class TableBuilder {
 public:
  explicit TableBuilder(FlatBufferBuilder& builder)
      : builder_(builder), start_(builder.StartTable()) {}

  /// Also where it is the default of the schema.
  template <class Value>
  void number(uint16_t field, Value value) {
    builder_.AddElement(flatbuffers::FieldIndexToOffset(field), value);
  }
  template <class Target>
  void offset(uint16_t field, Offset<Target> target) {
    builder_.AddOffset(flatbuffers::FieldIndexToOffset(field), target);
  }
  Table finish() { return Table(builder_.EndTable(start_)); }

 private:
  FlatBufferBuilder& builder_;
  uoffset_t start_;
};

Table int_type(FlatBufferBuilder& builder, int32_t bits) {
  TableBuilder type(builder);
  type.number(0, bits);
  type.number(1, uint8_t{1});  // with a sign
  return type.finish();
}

std::pair<TypeNumber, Table> type_of(FlatBufferBuilder& builder, ValueType type) {
  if (type == ValueType::kInteger) return {kIntType, int_type(builder, 64)};
  TableBuilder table(builder);
  if (type == ValueType::kReal) table.number(0, kDoublePrecision);
  return {type == ValueType::kReal ? kFloatingPointType : kUtf8Type, table.finish()};
}

Table dictionary_encoding(FlatBufferBuilder& builder, int64_t id) {
  Table const index = int_type(builder, 32);
  TableBuilder encoding(builder);
  encoding.number(0, id);
  encoding.offset(1, index);
  return encoding.finish();
}

using Notes = std::vector<std::pair<std::string, std::string>>;

Offset<Vector<Table>> notes_of(FlatBufferBuilder& builder, Notes const& notes) {
  std::vector<Table> tables;
  for (auto const& [key, value] : notes) {
    Offset<String> const key_text = builder.CreateString(key),
                         value_text = builder.CreateString(value);

    TableBuilder note(builder);
    note.offset(0, key_text);
    note.offset(1, value_text);
    tables.push_back(note.finish());
  }
  return builder.CreateVector(tables);
}

Table field_of(FlatBufferBuilder& builder, FileColumn const& column, int64_t id) {
  bool const is_text = column.type == ValueType::kText;
  Offset<String> const name = builder.CreateString(column.name);
  auto const [number, type] = type_of(builder, column.type);
  Table const dictionary = is_text ? dictionary_encoding(builder, id) : Table();
  auto const no_children = builder.CreateVector(std::vector<Table>());
  auto const notes =
      notes_of(builder, column.meaning.empty() ? Notes() : Notes{{"meaning", column.meaning}});

  TableBuilder field(builder);
  field.offset(0, name);
  field.number(1, uint8_t{1});  // may be NULL
  field.number(2, uint8_t{number});
  field.offset(3, type);
  if (is_text) field.offset(4, dictionary);
  field.offset(5, no_children);
  field.offset(6, notes);
  return field.finish();
}

Table schema_table(FlatBufferBuilder& builder, FileSchema const& schema) {
  std::vector<Table> fields;
  for (size_t i = 0; i < schema.columns.size(); ++i)
    fields.push_back(field_of(builder, schema.columns[i], static_cast<int64_t>(i)));
  auto const all = builder.CreateVector(fields);
  auto const notes = notes_of(builder, schema.notes);

  TableBuilder table(builder);
  table.number(0, int16_t{0});  // little-endian
  table.offset(1, all);
  table.offset(2, notes);
  return table.finish();
}

Table batch_table(FlatBufferBuilder& builder, ArrowBatch const& batch) {
  auto const nodes = builder.CreateVectorOfStructs(batch.nodes);
  auto const buffers = builder.CreateVectorOfStructs(batch.buffers);

  TableBuilder table(builder);
  table.number(0, batch.rows);
  table.offset(1, nodes);
  table.offset(2, buffers);
  return table.finish();
}

void append_int32(std::string& bytes, uint32_t value) {
  for (uint32_t shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
}

std::string message_of(FlatBufferBuilder& builder, HeaderNumber type, Table header,
                       int64_t body_bytes) {
  TableBuilder message(builder);
  message.number(0, kVersion5);
  message.number(1, uint8_t{type});
  message.offset(2, header);
  message.number(3, body_bytes);
  builder.Finish(message.finish());

  constexpr size_t kPrefix = 8;
  size_t const size = builder.GetSize();
  size_t const filled = (size + kArrowAlignment - 1) / kArrowAlignment * kArrowAlignment;
  std::string bytes;
  bytes.reserve(kPrefix + filled);
  append_int32(bytes, UINT32_MAX);
  append_int32(bytes, static_cast<uint32_t>(filled));
  bytes.append(reinterpret_cast<char const*>(builder.GetBufferPointer()), size);
  bytes.append(filled - size, '\0');
  return bytes;
}

}  // namespace

std::string arrow_schema_message(FileSchema const& schema) {
  FlatBufferBuilder builder;
  Table const header = schema_table(builder, schema);
  return message_of(builder, kSchemaHeader, header, 0);
}

std::string arrow_batch_message(ArrowBatch const& batch) {
  FlatBufferBuilder builder;
  Table const header = batch_table(builder, batch);
  return message_of(builder, kBatchHeader, header, batch.body_bytes);
}

std::string arrow_dictionary_message(int64_t id, ArrowBatch const& batch) {
  FlatBufferBuilder builder;
  Table const data = batch_table(builder, batch);
  TableBuilder header(builder);
  header.number(0, id);
  header.offset(1, data);
  return message_of(builder, kDictionaryHeader, header.finish(), batch.body_bytes);
}

std::string arrow_footer(FileSchema const& schema, std::span<ArrowBlock const> dictionaries,
                         std::span<ArrowBlock const> batches) {
  FlatBufferBuilder builder;
  Table const its_schema = schema_table(builder, schema);
  auto const its_dictionaries =
      builder.CreateVectorOfStructs(dictionaries.data(), dictionaries.size());
  auto const its_batches = builder.CreateVectorOfStructs(batches.data(), batches.size());

  TableBuilder footer(builder);
  footer.number(0, kVersion5);
  footer.offset(1, its_schema);
  footer.offset(2, its_dictionaries);
  footer.offset(3, its_batches);
  builder.Finish(footer.finish());

  std::string bytes(reinterpret_cast<char const*>(builder.GetBufferPointer()), builder.GetSize());
  append_int32(bytes, builder.GetSize());
  return bytes + "ARROW1";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);

  for (size_t first = 0; first < bytes.size(); first += 3) {
    size_t const count = std::min<size_t>(3, bytes.size() - first);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < count ? static_cast<uint8_t>(bytes[first + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

}  // namespace stepscope::columns
