#include "trace/columns/files/parquet_chunk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include <zstd.h>

#include "trace/base/check.h"
#include "trace/columns/files/parquet_encoding.h"
#include "trace/columns/files/thrift_writer.h"

namespace stepscope::columns {
namespace {

constexpr size_t kRowsOfPage = size_t{1} << 16U;
constexpr int kLevel = 1;                    // of Zstandard: the columns are packed already
constexpr size_t kMostDistinct = 1U << 15U;  // numbers of a dictionary
constexpr size_t kLongestBound = 64;         // bytes of a text as least or greatest value

/// The values of a column that are not NULL, in order.
struct Values {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<int32_t> texts;  ///< places in Column::texts
};

bool is_null(Column const& column, size_t row) {
  return !column.is_null.empty() && column.is_null[row] != 0;
}

template <class T>
std::vector<T> without_nulls(Column const& column, std::vector<T> const& values) {
  std::vector<T> present;
  present.reserve(values.size());
  for (size_t row = 0; row < values.size(); ++row)
    if (!is_null(column, row)) present.push_back(values[row]);
  return present;
}

/// The values as places in a list that has each once.
struct Dictionary {
  std::vector<uint32_t> codes;
  std::string values;  ///< PLAIN
  size_t size = 0;
};

void append_raw(std::string& bytes, auto const& value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);  // little-endian, as every machine that this runs on is
  bytes.append(raw, sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
  append_raw(bytes, static_cast<uint32_t>(text.size()));
  bytes += text;
}

/// Numbers by their bits. Nothing where there are too many different ones.
template <class Number>
std::optional<Dictionary> number_dictionary(std::vector<Number> const& numbers) {
  size_t const most = std::min(kMostDistinct, numbers.size() / 2 + 1);
  constexpr size_t kPlaces = kMostDistinct * 4;
  std::vector<uint32_t> places(kPlaces, UINT32_MAX);
  std::vector<uint64_t> distinct;
  Dictionary dictionary;
  dictionary.codes.reserve(numbers.size());

  for (Number const number : numbers) {
    auto const bits = std::bit_cast<uint64_t>(number);
    size_t place = (bits * 0x9E3779B97F4A7C15U) >> 47U;
    while (places[place] != UINT32_MAX && distinct[places[place]] != bits)
      place = (place + 1) % kPlaces;
    if (places[place] == UINT32_MAX) {
      if (distinct.size() == most) return std::nullopt;
      places[place] = static_cast<uint32_t>(distinct.size());
      distinct.push_back(bits);
    }
    dictionary.codes.push_back(places[place]);
  }

  for (uint64_t const bits : distinct) append_raw(dictionary.values, bits);
  dictionary.size = distinct.size();
  return dictionary;
}

/// Only the texts that the chunk has. Nothing where most appear once or they are very long: then
/// they stand in the pages.
std::optional<Dictionary> text_dictionary(std::vector<int32_t> const& places,
                                          std::vector<std::string> const& texts) {
  constexpr size_t kMostBytes = size_t{16} << 20U;
  std::vector<uint32_t> codes_of(texts.size(), UINT32_MAX);
  Dictionary dictionary;
  dictionary.codes.reserve(places.size());

  for (int32_t const place : places) {
    uint32_t& code = codes_of[static_cast<size_t>(place)];
    if (code == UINT32_MAX) {
      code = static_cast<uint32_t>(dictionary.size++);
      append_text(dictionary.values, texts[static_cast<size_t>(place)]);
      if (dictionary.values.size() > kMostBytes) return std::nullopt;
    }
    dictionary.codes.push_back(code);
  }

  constexpr size_t kSmall = 1000;
  bool const pays_off = dictionary.size <= kSmall || dictionary.size <= places.size() / 2;
  return pays_off ? std::optional(std::move(dictionary)) : std::nullopt;
}

/// Puts pages behind each other, compressed.
class PageWriter {
 public:
  explicit PageWriter(ParquetChunk& chunk) : chunk_(chunk), context_(ZSTD_createCCtx()) {
    STEPSCOPE_CHECK(context_ != nullptr);
  }

  void dictionary_page(Dictionary const& dictionary) {
    constexpr int32_t kDictionaryPage = 2;
    page(kDictionaryPage, dictionary.values, [&](ThriftWriter& header) {
      header.begin_struct(7);
      header.i32(1, static_cast<int32_t>(dictionary.size));
      header.i32(2, parquet::kPlain);
      header.end_struct();
    });
  }
  void data_page(std::string_view content, size_t rows, parquet::Encoding encoding) {
    constexpr int32_t kDataPage = 0;
    page(kDataPage, content, [&](ThriftWriter& header) {
      header.begin_struct(5);
      header.i32(1, static_cast<int32_t>(rows));
      header.i32(2, encoding);
      header.i32(3, parquet::kRle);
      header.i32(4, parquet::kRle);
      header.end_struct();
    });
  }

 private:
  template <class WriteKind>
  void page(int32_t type, std::string_view content, WriteKind const& write_kind) {
    packed_.resize(ZSTD_compressBound(content.size()));
    size_t const bytes = ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(),
                                           content.data(), content.size(), kLevel);
    STEPSCOPE_CHECK(ZSTD_isError(bytes) == 0);

    ThriftWriter header;
    header.i32(1, type);
    header.i32(2, static_cast<int32_t>(content.size()));
    header.i32(3, static_cast<int32_t>(bytes));
    write_kind(header);
    std::string const head = header.take();

    chunk_.pages += head;
    chunk_.pages.append(packed_, 0, bytes);
    chunk_.uncompressed_bytes += static_cast<int64_t>(head.size() + content.size());
  }

  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  ParquetChunk& chunk_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::string packed_;
};

/// Which rows have a value, a bit a row.
void append_levels(std::string& content, Column const& column, size_t first, size_t end) {
  std::vector<uint32_t> levels(end - first, 1);
  for (size_t row = first; row < end; ++row)
    if (is_null(column, row)) levels[row - first] = 0;

  std::string packed;
  append_hybrid(packed, levels, 1);
  append_text(content, packed);  // with its length in front, as a text
}

/// The encoding of values without a dictionary.
parquet::Encoding direct_encoding(ValueType type) {
  return type == ValueType::kInteger ? parquet::kDeltaBinaryPacked : parquet::kPlain;
}

void append_direct(std::string& content, Column const& column, Values const& values, size_t first,
                   size_t count) {
  if (column.type == ValueType::kInteger)
    return append_deltas(content, std::span(values.integers).subspan(first, count));

  for (size_t i = first; i < first + count; ++i) {
    if (column.type == ValueType::kReal)
      append_raw(content, values.reals[i]);
    else
      append_text(content, column.texts[static_cast<size_t>(values.texts[i])]);
  }
}

void append_codes(std::string& content, Dictionary const& dictionary, size_t first, size_t count) {
  uint32_t const bits = std::max(bits_of(dictionary.size - 1), 1U);
  content += static_cast<char>(bits);
  append_hybrid(content, std::span(dictionary.codes).subspan(first, count), bits);
}

template <class Number>
std::string plain(Number value) {
  std::string bytes;
  append_raw(bytes, value);
  return bytes;
}

using Bounds = std::optional<std::pair<std::string, std::string>>;

Bounds bounds_of(std::vector<int64_t> const& integers) {
  if (integers.empty()) return std::nullopt;
  auto const [least, greatest] = std::minmax_element(integers.begin(), integers.end());
  return std::pair(plain(*least), plain(*greatest));
}

/// The format wants −0 as the least and +0 as the greatest zero.
Bounds bounds_of(std::vector<double> const& reals) {
  if (reals.empty() || std::any_of(reals.begin(), reals.end(), [](double v) { return v != v; }))
    return std::nullopt;
  auto const [least, greatest] = std::minmax_element(reals.begin(), reals.end());
  return std::pair(plain(*least == 0 ? -0.0 : *least), plain(*greatest == 0 ? 0.0 : *greatest));
}

/// Long texts are no bounds: they would stand in the file's end once a group.
Bounds bounds_of(std::vector<int32_t> const& places, std::vector<std::string> const& texts) {
  if (places.empty()) return std::nullopt;
  std::vector<bool> is_there(texts.size());
  for (int32_t const place : places) is_there[static_cast<size_t>(place)] = true;

  std::string const *least = nullptr, *greatest = nullptr;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!is_there[i]) continue;
    if (least == nullptr || texts[i] < *least) least = &texts[i];
    if (greatest == nullptr || texts[i] > *greatest) greatest = &texts[i];
  }
  if (least->size() > kLongestBound || greatest->size() > kLongestBound) return std::nullopt;
  return std::pair(*least, *greatest);
}

struct Plan {
  Values values;
  std::optional<Dictionary> dictionary;
  Bounds bounds;
};

Plan plan_chunk(Column const& column) {
  Plan plan;

  switch (column.type) {
    case ValueType::kInteger:
      plan.values.integers = without_nulls(column, column.integers);
      plan.dictionary = number_dictionary(plan.values.integers);
      plan.bounds = bounds_of(plan.values.integers);
      break;

    case ValueType::kReal:
      plan.values.reals = without_nulls(column, column.reals);
      plan.dictionary = number_dictionary(plan.values.reals);
      plan.bounds = bounds_of(plan.values.reals);
      break;

    case ValueType::kText:
      plan.values.texts = without_nulls(column, column.codes);
      plan.dictionary = text_dictionary(plan.values.texts, column.texts);
      plan.bounds = bounds_of(plan.values.texts, column.texts);
      break;
  }

  // A dictionary of nothing would have codes of no bits, which some readers refuse.
  if (plan.dictionary && plan.dictionary->size == 0) plan.dictionary.reset();
  return plan;
}

/// Long texts that stand in the page end it: its size has 31 bits.
size_t end_of_page(Column const& column, size_t first, bool has_direct_values) {
  constexpr size_t kBytesOfPage = size_t{1} << 20U;
  size_t const most = std::min(first + kRowsOfPage, column.rows());
  if (column.type != ValueType::kText || !has_direct_values) return most;

  size_t bytes = 0, end = first;
  for (; end < most && bytes < kBytesOfPage; ++end)
    if (!is_null(column, end)) bytes += column.texts[static_cast<size_t>(column.codes[end])].size();
  return end;
}

}  // namespace

ParquetChunk encode_chunk(Column const& column) {
  Plan const plan = plan_chunk(column);
  ParquetChunk chunk;
  chunk.rows = column.rows();
  chunk.nulls = column.nulls;
  chunk.least_and_greatest = plan.bounds;
  chunk.has_dictionary = plan.dictionary.has_value();

  auto const encoding = plan.dictionary ? parquet::kRleDictionary : direct_encoding(column.type);
  chunk.encodings = {parquet::kRle, encoding};
  if (plan.dictionary) chunk.encodings.push_back(parquet::kPlain);  // of the dictionary itself

  PageWriter writer(chunk);
  if (plan.dictionary) writer.dictionary_page(*plan.dictionary);
  chunk.first_data_page = static_cast<int64_t>(chunk.pages.size());

  size_t first_value = 0;
  for (size_t first = 0, end = 0; first < column.rows(); first = end) {
    end = end_of_page(column, first, !plan.dictionary);
    size_t count = 0;
    for (size_t row = first; row < end; ++row) count += is_null(column, row) ? 0 : 1;

    std::string content;
    append_levels(content, column, first, end);
    if (plan.dictionary)
      append_codes(content, *plan.dictionary, first_value, count);
    else
      append_direct(content, column, plan.values, first_value, count);
    writer.data_page(content, end - first, encoding);
    first_value += count;
  }
  return chunk;
}

}  // namespace stepscope::columns
