// JSON written from front to back, for the tracer in other people's programs. It takes memory for
// the text alone. A tree of values also takes some when it is destroyed, and aborts the program
// where memory has run out.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::file {

/// Each key is followed by a value or by the begin of an object or an array.
class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name) {
    value(name);
    text_ += ':';
    needs_comma_ = false;
    return *this;
  }

  /// What is not UTF-8 is replaced.
  JsonText& value(std::string_view text) {
    separate();
    text_ += '"';
    constexpr size_t kReplacement = 3;  // bytes, for one that is not UTF-8
    for (char const c : base::valid_utf8(text, kReplacement * text.size())) add(c);
    text_ += '"';
    return *this;
  }
  template <std::integral Number>
  JsonText& value(Number number) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", number);
    return *this;
  }
  /// null, where it is not finite.
  JsonText& value(double number) {
    separate();
    if (std::isfinite(number))
      fmt::format_to(std::back_inserter(text_), "{}", number);
    else
      text_ += "null";
    return *this;
  }
  template <class Value>
  JsonText& member(std::string_view name, Value const& of_it) {
    return key(name).value(of_it);
  }
  JsonText& member(std::string_view name, std::span<std::string const> list) {
    key(name).begin_array();
    for (std::string const& text : list) value(std::string_view(text));
    return end_array();
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (std::exchange(needs_comma_, true)) text_ += ',';
  }
  JsonText& open(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
    return *this;
  }
  JsonText& close(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
    return *this;
  }
  void add(char c) {
    if (c == '"' || c == '\\')
      (text_ += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<unsigned>(c));
    else
      text_ += c;
  }

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace stepscope::file
