#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "trace/base/check.h"
#include "trace/columns/files/arrow_messages.h"
#include "trace/columns/files/parquet_chunk.h"
#include "trace/columns/files/table_file.h"
#include "trace/columns/files/thrift_writer.h"

namespace stepscope::columns {
namespace {

using base::Expected;
using Element = ThriftWriter::Element;

constexpr std::string_view kMagic = "PAR1";

parquet::Type type_of(ValueType type) {
  if (type == ValueType::kText) return parquet::kByteArray;
  return type == ValueType::kReal ? parquet::kDouble : parquet::kInt64;
}

/// A column of a group as the file's end describes it.
struct WrittenChunk {
  ParquetChunk chunk;  ///< without its pages
  int64_t offset = 0, bytes = 0;
};
struct WrittenGroup {
  std::vector<WrittenChunk> chunks;
  int64_t rows = 0, bytes = 0, uncompressed_bytes = 0;
};

void write_schema(ThriftWriter& footer, FileSchema const& schema) {
  footer.begin_list(2, Element::kStruct, schema.columns.size() + 1);
  footer.begin_element();
  footer.binary(4, "schema");
  footer.i32(5, static_cast<int32_t>(schema.columns.size()));
  footer.end_struct();

  constexpr int32_t kOptional = 1, kUtf8 = 0;
  for (FileColumn const& column : schema.columns) {
    footer.begin_element();
    footer.i32(1, type_of(column.type));
    footer.i32(3, kOptional);
    footer.binary(4, column.name);
    if (column.type == ValueType::kText) {
      footer.i32(6, kUtf8);
      footer.begin_struct(10);  // the logical type: a string
      footer.empty_struct(1);
      footer.end_struct();
    }
    footer.end_struct();
  }
}

void write_statistics(ThriftWriter& footer, ParquetChunk const& chunk) {
  footer.begin_struct(12);
  footer.i64(3, static_cast<int64_t>(chunk.nulls));
  if (chunk.least_and_greatest) {
    footer.binary(5, chunk.least_and_greatest->second);
    footer.binary(6, chunk.least_and_greatest->first);
  }
  footer.end_struct();
}

void write_chunk(ThriftWriter& footer, FileColumn const& column, WrittenChunk const& written) {
  ParquetChunk const& chunk = written.chunk;
  footer.begin_element();
  footer.i64(2, written.offset);

  footer.begin_struct(3);
  footer.i32(1, type_of(column.type));
  footer.begin_list(2, Element::kI32, chunk.encodings.size());
  for (int32_t const encoding : chunk.encodings) footer.i32_element(encoding);
  footer.begin_list(3, Element::kBinary, 1);
  footer.binary_element(column.name);
  footer.i32(4, parquet::kZstd);
  footer.i64(5, static_cast<int64_t>(chunk.rows));
  footer.i64(6, chunk.uncompressed_bytes);
  footer.i64(7, written.bytes);
  footer.i64(9, written.offset + chunk.first_data_page);
  if (chunk.has_dictionary) footer.i64(11, written.offset);
  write_statistics(footer, chunk);
  footer.end_struct();

  footer.end_struct();
}

void write_notes(ThriftWriter& footer, FileSchema const& schema) {
  auto notes = schema.notes;
  // Readers that are made of Arrow take texts for dictionaries because of this.
  notes.emplace_back("ARROW:schema", base64(arrow_schema_message(schema)));
  for (FileColumn const& column : schema.columns)
    if (!column.meaning.empty()) notes.emplace_back("column:" + column.name, column.meaning);

  footer.begin_list(5, Element::kStruct, notes.size());
  for (auto const& [key, value] : notes) {
    footer.begin_element();
    footer.binary(1, key);
    footer.binary(2, value);
    footer.end_struct();
  }
}

class ParquetFile final : public TableFile {
 public:
  ParquetFile(FileSchema schema, WriteBytes write)
      : schema_(std::move(schema)), write_(std::move(write)) {}

  Expected<void> add(std::span<Column const> columns) override {
    STEPSCOPE_CHECK(columns.size() == schema_.columns.size());
    if (columns.empty() || columns[0].rows() == 0) return {};
    if (auto const begun = begin(); !begun) return begun;

    std::vector<ParquetChunk> chunks(columns.size());
    tbb::parallel_for(
        tbb::blocked_range<size_t>(0, columns.size(), 1),
        [&](tbb::blocked_range<size_t> const& range) {
          for (size_t i = range.begin(); i != range.end(); ++i)
            chunks[i] = encode_chunk(columns[i]);
        },
        tbb::simple_partitioner());

    WrittenGroup& group = groups_.emplace_back();
    group.rows = static_cast<int64_t>(columns[0].rows());
    for (ParquetChunk& chunk : chunks)
      if (auto const added = add_chunk(group, std::move(chunk)); !added) return added;
    return {};
  }

  Expected<void> finish() override {
    if (auto const begun = begin(); !begun) return begun;
    std::string footer = this->footer();
    auto const bytes = static_cast<uint32_t>(footer.size());
    for (uint32_t shift = 0; shift < 32; shift += 8) footer += static_cast<char>(bytes >> shift);
    footer += kMagic;
    return write(footer);
  }

 private:
  Expected<void> begin() { return written_ == 0 ? write(kMagic) : Expected<void>(); }

  Expected<void> write(std::string_view bytes) {
    written_ += static_cast<int64_t>(bytes.size());
    return write_(bytes);
  }

  Expected<void> add_chunk(WrittenGroup& group, ParquetChunk chunk) {
    std::string const pages = std::exchange(chunk.pages, {});
    auto const bytes = static_cast<int64_t>(pages.size());
    group.bytes += bytes;
    group.uncompressed_bytes += chunk.uncompressed_bytes;
    group.chunks.push_back({std::move(chunk), written_, bytes});
    return write(pages);
  }

  [[nodiscard]] std::string footer() const {
    int64_t rows = 0;
    for (WrittenGroup const& group : groups_) rows += group.rows;

    ThriftWriter footer;
    footer.i32(1, 2);  // the format's version
    write_schema(footer, schema_);
    footer.i64(3, rows);
    footer.begin_list(4, Element::kStruct, groups_.size());
    for (WrittenGroup const& group : groups_) write_group(footer, group);
    write_notes(footer, schema_);
    footer.binary(6, "stepscope version " STEPSCOPE_VERSION);

    footer.begin_list(7, Element::kStruct, schema_.columns.size());
    for (size_t i = 0; i < schema_.columns.size(); ++i) {
      footer.begin_element();  // least and greatest are in the order of the type
      footer.empty_struct(1);
      footer.end_struct();
    }
    return footer.take();
  }

  void write_group(ThriftWriter& footer, WrittenGroup const& group) const {
    footer.begin_element();
    footer.begin_list(1, Element::kStruct, group.chunks.size());
    for (size_t i = 0; i < group.chunks.size(); ++i)
      write_chunk(footer, schema_.columns[i], group.chunks[i]);

    footer.i64(2, group.uncompressed_bytes);
    footer.i64(3, group.rows);
    footer.i64(5, group.chunks.front().offset);
    footer.i64(6, group.bytes);
    footer.end_struct();
  }

  FileSchema schema_;
  WriteBytes write_;
  int64_t written_ = 0;
  std::vector<WrittenGroup> groups_;
};

}  // namespace

std::unique_ptr<TableFile> parquet_file(FileSchema schema, WriteBytes write) {
  return std::make_unique<ParquetFile>(std::move(schema), std::move(write));
}

}  // namespace stepscope::columns
