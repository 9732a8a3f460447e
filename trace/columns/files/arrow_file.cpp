#include <algorithm>
#include <limits>
#include <unordered_map>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "trace/base/check.h"
#include "trace/columns/files/arrow_messages.h"
#include "trace/columns/files/table_file.h"

namespace stepscope::columns {
namespace {

using base::Expected;

/// The texts of a column in the whole file.
struct ArrowDictionary {
  std::unordered_map<std::string, int32_t> codes;
  std::string bytes;
  std::vector<int32_t> ends = {0};
  bool is_too_large = false;

  int32_t code_of(std::string const& text) {
    auto const [known, is_new] = codes.try_emplace(text, static_cast<int32_t>(codes.size()));
    if (!is_new) return known->second;
    constexpr size_t kMost = std::numeric_limits<int32_t>::max();
    is_too_large = is_too_large || text.size() > kMost - bytes.size();
    if (is_too_large) return known->second;

    bytes += text;
    ends.push_back(static_cast<int32_t>(bytes.size()));
    return known->second;
  }
};

std::string valid_bits(Column const& column) {
  std::string bits;
  if (column.nulls == 0) return bits;
  bits.resize((column.rows() + 7) / 8);
  for (size_t row = 0; row < column.rows(); ++row)
    if (column.is_null[row] == 0)
      bits[row / 8] = static_cast<char>(static_cast<uint8_t>(bits[row / 8]) | 1U << (row % 8));
  return bits;
}

template <class Number>
std::string_view bytes_of(std::vector<Number> const& numbers) {
  return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// The bytes of a batch, in order, and what describes them.
class BatchBody {
 public:
  explicit BatchBody(size_t rows) { batch_.rows = static_cast<int64_t>(rows); }

  void begin_array(size_t rows, uint64_t nulls) {
    batch_.nodes.push_back({static_cast<int64_t>(rows), static_cast<int64_t>(nulls)});
  }
  /// `bytes` stay where they are until all is written.
  void add_buffer(std::string_view bytes) {
    batch_.buffers.push_back({batch_.body_bytes, static_cast<int64_t>(bytes.size())});
    pieces_.push_back(bytes);
    batch_.body_bytes += static_cast<int64_t>(bytes.size() + filling(bytes));
  }

  [[nodiscard]] ArrowBatch const& batch() const { return batch_; }
  template <class Write>
  Expected<void> write(Write const& write) const {
    constexpr std::string_view kZeros("\0\0\0\0\0\0\0", kArrowAlignment - 1);
    for (std::string_view const piece : pieces_) {
      if (auto const written = write(piece); !written) return written;
      if (filling(piece) == 0) continue;
      if (auto const written = write(kZeros.substr(0, filling(piece))); !written) return written;
    }
    return {};
  }

 private:
  static size_t filling(std::string_view bytes) { return -bytes.size() % kArrowAlignment; }

  ArrowBatch batch_;
  std::vector<std::string_view> pieces_;
};

class ArrowFile final : public TableFile {
 public:
  ArrowFile(FileSchema schema, WriteBytes write)
      : schema_(std::move(schema)),
        write_(std::move(write)),
        dictionaries_(schema_.columns.size()) {}

  Expected<void> add(std::span<Column const> columns) override {
    STEPSCOPE_CHECK(columns.size() == schema_.columns.size());
    if (columns.empty() || columns[0].rows() == 0) return {};
    if (auto const begun = begin(); !begun) return begun;

    std::vector<std::string> valid(columns.size());
    std::vector<std::vector<int32_t>> codes(columns.size());
    tbb::parallel_for(size_t{0}, columns.size(), [&](size_t i) {
      valid[i] = valid_bits(columns[i]);
      if (columns[i].type == ValueType::kText) codes[i] = file_codes(columns[i], dictionaries_[i]);
    });
    for (size_t i = 0; i < columns.size(); ++i)
      if (dictionaries_[i].is_too_large)
        return base::fail("column {} has more than 2 GiB of texts, write Parquet instead",
                          schema_.columns[i].name);

    BatchBody body(columns[0].rows());
    for (size_t i = 0; i < columns.size(); ++i) {
      body.begin_array(columns[i].rows(), columns[i].nulls);
      body.add_buffer(valid[i]);
      body.add_buffer(values_of(columns[i], codes[i]));
    }
    return write_message(arrow_batch_message(body.batch()), body, batch_blocks_);
  }

  Expected<void> finish() override {
    if (auto const begun = begin(); !begun) return begun;
    for (size_t i = 0; i < schema_.columns.size(); ++i)
      if (schema_.columns[i].type == ValueType::kText)
        if (auto const written = write_dictionary(i); !written) return written;

    constexpr std::string_view kEnd("\xff\xff\xff\xff\0\0\0\0", 8);
    if (auto const written = write(kEnd); !written) return written;
    return write(arrow_footer(schema_, dictionary_blocks_, batch_blocks_));
  }

 private:
  static std::vector<int32_t> file_codes(Column const& column, ArrowDictionary& dictionary) {
    std::vector<int32_t> in_file(column.texts.size(), -1);
    std::vector<int32_t> codes(column.rows());
    for (size_t row = 0; row < codes.size(); ++row) {
      if (column.codes[row] < 0) continue;  // NULL: 0, as good as any
      auto const code = static_cast<size_t>(column.codes[row]);
      if (in_file[code] < 0) in_file[code] = dictionary.code_of(column.texts[code]);
      codes[row] = in_file[code];
    }
    return codes;
  }
  static std::string_view values_of(Column const& column, std::vector<int32_t> const& codes) {
    if (column.type == ValueType::kText) return bytes_of(codes);
    return column.type == ValueType::kReal ? bytes_of(column.reals) : bytes_of(column.integers);
  }

  Expected<void> begin() {
    if (written_ > 0) return {};
    constexpr std::string_view kHead("ARROW1\0\0", 8);
    if (auto const written = write(kHead); !written) return written;
    return write(arrow_schema_message(schema_));
  }
  Expected<void> write(std::string_view bytes) {
    written_ += static_cast<int64_t>(bytes.size());
    return write_(bytes);
  }
  Expected<void> write_message(std::string const& message, BatchBody const& body,
                               std::vector<ArrowBlock>& blocks) {
    blocks.push_back({written_, static_cast<int32_t>(message.size()), 0, body.batch().body_bytes});
    if (auto const written = write(message); !written) return written;
    return body.write([&](std::string_view bytes) { return write(bytes); });
  }
  Expected<void> write_dictionary(size_t column) {
    ArrowDictionary const& dictionary = dictionaries_[column];
    size_t const texts = dictionary.ends.size() - 1;
    BatchBody body(texts);
    body.begin_array(texts, 0);
    body.add_buffer({});  // all are valid
    body.add_buffer(bytes_of(dictionary.ends));
    body.add_buffer(dictionary.bytes);
    auto const message = arrow_dictionary_message(static_cast<int64_t>(column), body.batch());
    return write_message(message, body, dictionary_blocks_);
  }

  FileSchema schema_;
  WriteBytes write_;
  std::vector<ArrowDictionary> dictionaries_;
  std::vector<ArrowBlock> dictionary_blocks_, batch_blocks_;
  int64_t written_ = 0;
};

}  // namespace

std::unique_ptr<TableFile> arrow_file(FileSchema schema, WriteBytes write) {
  return std::make_unique<ArrowFile>(std::move(schema), std::move(write));
}

}  // namespace stepscope::columns
