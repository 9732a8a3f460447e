// Data that are nothing but data: numbers, texts, lists and dictionaries, as JSON and harmless
// pickles hold them. Values are small and refer to their contents, so that any nesting, even a list
// that holds itself, can neither overflow nor be walked for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::import {

class PlainData {
 public:
  enum class Type : uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kJsonText,  ///< with JSON's escapes
    kList,      ///< tuples and sets, too
    kDict,
    kHuge  ///< an integer of more than 64 bits
  };
  struct Value {
    Type type = Type::kNone;
    uint32_t text_bytes = 0;
    union {
      int64_t integer = 0;
      double real;
      char const* text;
      uint64_t container;
    };
  };
  /// At most 4 GiB: while a table grows a value takes up to 64 B. A dump of a million calls has 58
  /// million values. One of 100,000 calls with their stacks has 25 million.
  static constexpr size_t kMostValues = size_t{1} << 26U;

  explicit PlainData(size_t most_values = kMostValues) : most_values_(most_values) {}

  static Value integer(int64_t number);
  static Value boolean(bool is_true);
  static Value real(double number);
  /// The characters outlive the data; at most 4 GiB.
  static Value text(std::string_view characters, Type type = Type::kText);
  /// An empty list or dictionary.
  Value container(Type type);

  /// To a list; to a dictionary keys and values in turn. False when there are too many values: see
  /// too_many_values().
  bool append(Value const& container, std::span<Value const> values);
  /// The items of a list, or keys and values in turn; nothing of others. Valid until the next
  /// append().
  [[nodiscard]] std::span<Value const> items(Value const& value) const;
  /// Room in all containers.
  [[nodiscard]] size_t value_count() const { return items_.size(); }
  [[nodiscard]] size_t container_count() const { return containers_.size(); }
  /// Whether there are too many values, together with `others` that a reader keeps.
  [[nodiscard]] bool is_too_much_with(size_t others) const {
    return items_.size() + containers_.size() + others > most_values_;
  }
  /// What to say then. Completes "FILE: …".
  [[nodiscard]] std::string too_many_values() const;

 private:
  struct Items {
    size_t first = 0, count = 0, capacity = 0;
  };
  size_t most_values_;
  std::vector<Items> containers_;
  std::vector<Value> items_;  ///< of all containers; a container that grows moves to the end
};

using PlainValue = PlainData::Value;
using PlainType = PlainData::Type;

/// A text as it stands; empty for others.
std::string_view raw_text(PlainValue const& value);
/// For people: escapes resolved, broken characters replaced, at most `most` bytes.
std::string shown_text(PlainValue const& value, size_t most);
/// A whole number, also one that is written as a real number or a text; nothing for others.
std::optional<int64_t> whole_number(PlainValue const& value);
/// A number; nothing for others, and for what is not finite.
std::optional<double> real_number(PlainValue const& value);

}  // namespace stepscope::import
