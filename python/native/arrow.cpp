#include "python/native/arrow.h"

#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <utility>

namespace stepscope::python {
namespace {

using query::Column;
using query::ValueType;

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

char const* format_of(ValueType type) {
  if (type == ValueType::kReal) return "g";
  return type == ValueType::kInteger ? "l" : "i";  // texts: the codes
}

/// A schema of the table: a struct with a child a column.
struct SchemaOwner {
  Columns columns;
  std::deque<ArrowSchema> children, dictionaries;
  std::vector<ArrowSchema*> child_pointers;
};

/// A reader may move a part out and release it after the rest: each one keeps the owner of all.
template <class Struct, class Owner>
void release(Struct* part) {
  for (int64_t i = 0; i < part->n_children; ++i)
    if (part->children[i]->release != nullptr) part->children[i]->release(part->children[i]);
  if (part->dictionary != nullptr && part->dictionary->release != nullptr)
    part->dictionary->release(part->dictionary);

  auto const* const kept = static_cast<std::shared_ptr<Owner>*>(part->private_data);
  part->release = nullptr;
  delete kept;
}

template <class Struct, class Owner>
void give_to(Struct& part, std::shared_ptr<Owner> const& owner) {
  part.release = release<Struct, Owner>;
  part.private_data = new std::shared_ptr<Owner>(owner);
}

void fill_schema(ArrowSchema* out, Columns const& columns) {
  auto const owner = std::make_shared<SchemaOwner>();
  owner->columns = columns;
  for (Column const& column : *columns) {
    ArrowSchema& child = owner->children.emplace_back();
    child.format = format_of(column.type);
    child.name = column.name.c_str();
    child.flags = kNullable;
    give_to(child, owner);

    if (column.type == ValueType::kText) {
      ArrowSchema& texts = owner->dictionaries.emplace_back();
      texts.format = "U";
      texts.name = "";
      give_to(texts, owner);
      child.dictionary = &texts;
    }
    owner->child_pointers.push_back(&child);
  }

  *out = {};
  out->format = "+s";
  out->name = "";
  out->n_children = static_cast<int64_t>(owner->child_pointers.size());
  out->children = owner->child_pointers.data();
  give_to(*out, owner);
}

/// What the arrays of a column point to, beyond the column itself.
struct ColumnArrays {
  ArrowArray values{}, texts{};
  std::vector<uint8_t> valid;  ///< a bit a row; empty: all are
  std::vector<int64_t> offsets;
  std::string bytes;
  std::array<void const*, 2> value_buffers{};
  std::array<void const*, 3> text_buffers{};
};
struct ArrayOwner {
  Columns columns;
  std::deque<ColumnArrays> arrays;
  std::vector<ArrowArray*> child_pointers;
  std::array<void const*, 1> no_validity{};
};

std::vector<uint8_t> valid_bits(Column const& column) {
  std::vector<uint8_t> bits;
  if (column.nulls == 0) return bits;
  bits.resize((column.rows() + 7) / 8);
  for (size_t row = 0; row < column.rows(); ++row)
    if (column.is_null[row] == 0)
      bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | 1U << (row % 8));
  return bits;
}

void const* values_of(Column const& column) {
  if (column.type == ValueType::kText) return column.codes.data();
  return column.type == ValueType::kReal ? static_cast<void const*>(column.reals.data())
                                         : static_cast<void const*>(column.integers.data());
}

void fill_column(ColumnArrays& arrays, Column const& column,
                 std::shared_ptr<ArrayOwner> const& owner) {
  arrays.valid = valid_bits(column);
  arrays.value_buffers = {arrays.valid.empty() ? nullptr : arrays.valid.data(), values_of(column)};
  arrays.values.length = static_cast<int64_t>(column.rows());
  arrays.values.null_count = static_cast<int64_t>(column.nulls);
  arrays.values.n_buffers = 2;
  arrays.values.buffers = arrays.value_buffers.data();
  give_to(arrays.values, owner);
  if (column.type != ValueType::kText) return;

  arrays.offsets.push_back(0);
  for (std::string const& text : column.texts) {
    arrays.bytes += text;
    arrays.offsets.push_back(static_cast<int64_t>(arrays.bytes.size()));
  }
  arrays.text_buffers = {nullptr, arrays.offsets.data(), arrays.bytes.data()};
  arrays.texts.length = static_cast<int64_t>(column.texts.size());
  arrays.texts.n_buffers = 3;
  arrays.texts.buffers = arrays.text_buffers.data();
  give_to(arrays.texts, owner);
  arrays.values.dictionary = &arrays.texts;
}

void fill_array(ArrowArray* out, Columns const& columns) {
  auto const owner = std::make_shared<ArrayOwner>();
  owner->columns = columns;
  for (Column const& column : *columns) {
    fill_column(owner->arrays.emplace_back(), column, owner);
    owner->child_pointers.push_back(&owner->arrays.back().values);
  }

  *out = {};
  out->length = columns->empty() ? 0 : static_cast<int64_t>(columns->front().rows());
  out->n_buffers = 1;
  out->buffers = owner->no_validity.data();
  out->n_children = static_cast<int64_t>(owner->child_pointers.size());
  out->children = owner->child_pointers.data();
  give_to(*out, owner);
}

struct StreamOwner {
  Columns columns;
  bool is_over = false;
};

/// Nothing may be thrown into a reader in C.
template <class Work>
int without_exceptions(Work const& work) noexcept {
  try {
    work();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto const& owner = *static_cast<StreamOwner*>(stream->private_data);
  return without_exceptions([&] { fill_schema(out, owner.columns); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& owner = *static_cast<StreamOwner*>(stream->private_data);
  *out = {};  // the end of the stream
  if (std::exchange(owner.is_over, true)) return 0;
  return without_exceptions([&] { fill_array(out, owner.columns); });
}

}  // namespace

ArrowArrayStream* new_arrow_stream(Columns columns) {
  auto owner = std::make_unique<StreamOwner>();
  owner->columns = std::move(columns);

  auto* const stream = new ArrowArrayStream{};
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = [](ArrowArrayStream*) -> char const* { return "out of memory"; };
  stream->release = [](ArrowArrayStream* over) {
    over->release = nullptr;
    delete static_cast<StreamOwner*>(over->private_data);
  };
  stream->private_data = owner.release();
  return stream;
}

}  // namespace stepscope::python
