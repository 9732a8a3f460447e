// A large JSON document, made one member at a time: of 100 k steps and collectives the values would
// take a gigabyte, their text takes a tenth of it. The text is that of nlohmann's dump(1, ' ',
// false, replace) of the whole.
#pragma once

#include <charconv>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace stepscope::reports {

/// Writes values line by line. Keys: letters and underscores.
class JsonLines {
 public:
  using Json = nlohmann::ordered_json;
  /// Appends elements of an array to `text`, which has its opening bracket. `depth`: spaces before
  /// each line.
  JsonLines(std::string& text, size_t depth) : text_(text), depth_(depth) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  /// Key of an object; one value must follow.
  void key(std::string_view key);

  void value(std::integral auto number) {
    begin_value();
    if constexpr (std::same_as<decltype(number), bool>) {
      text_ += number ? "true" : "false";
    } else {
      char digits[24];
      auto const written = std::to_chars(digits, digits + sizeof digits, number);
      text_.append(digits, written.ptr);
    }
  }
  void value(std::optional<int64_t> const& number);
  void value(Json const& value);
  void put(std::string_view name, auto const& of) {
    key(name);
    value(of);
  }

 private:
  void begin_value();
  void begin(char bracket);
  void end(char bracket);

  std::string& text_;
  size_t depth_;          ///< spaces before elements and keys
  bool is_first_ = true;  ///< of the innermost object or array
  bool has_key_ = false;  ///< and waits for its value
};

class JsonDocument {
 public:
  using Json = nlohmann::ordered_json;
  /// Members stand in the order in which they are put. `key`: letters and underscores.
  void put(std::string_view key, Json const& value);
  /// An array. `write` writes each of `count` rows as one value, from several threads at once.
  void put_rows(std::string_view key, size_t count,
                std::function<void(size_t, JsonLines&)> const& write);
  /// With a newline at the end.
  [[nodiscard]] std::string finish() &&;

 private:
  void begin_member(std::string_view key);
  std::string text_ = "{";
};

}  // namespace stepscope::reports
