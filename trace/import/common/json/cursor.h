// A place in JSON text of traces, moved forward over tokens and whole values. Nothing is built:
// strings are the text between their quotes, as it stands. Lenient where tools are: NaN and
// Infinity are values. The text is hostile; nothing is read behind its end, and nesting is bounded.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stepscope::import {

/// The first `"` or `\` at or behind `at`, else `end`.
[[gnu::always_inline]] inline char const* find_string_end(char const* at, char const* end) {
#if defined(__SSE2__)
  __m128i const quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');

  for (; end - at >= 16; at += 16) {
    __m128i const text = _mm_loadu_si128(reinterpret_cast<__m128i const*>(at));
    auto const found = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, escape))));
    if (found != 0) return at + std::countr_zero(found);
  }
#endif
  return std::find_if(at, end, [](char c) { return c == '"' || c == '\\'; });
}
/// The first that is no letter, digit, sign or point at or behind `at`, else `end`: where a number
/// ends, or a word as null.
inline char const* find_word_end(char const* at, char const* end) {
  auto const is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
  };

#if defined(__SSE2__)
  // Signed comparisons: bytes of 0x80 and above are less than all of them.
  auto const between = [](__m128i text, char first, char last) {
    return _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8(static_cast<char>(first - 1))),
                         _mm_cmplt_epi8(text, _mm_set1_epi8(static_cast<char>(last + 1))));
  };

  for (; end - at >= 16; at += 16) {
    __m128i const text = _mm_loadu_si128(reinterpret_cast<__m128i const*>(at));
    __m128i const letters = between(_mm_or_si128(text, _mm_set1_epi8(0x20)), 'a', 'z');
    __m128i const points =
        _mm_andnot_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')), between(text, '+', '.'));
    __m128i const word = _mm_or_si128(_mm_or_si128(letters, points), between(text, '0', '9'));

    auto const others = ~static_cast<unsigned>(_mm_movemask_epi8(word)) & 0xFFFFU;
    if (others != 0) return at + std::countr_zero(others);
  }
#endif
  return std::find_if_not(at, end, is_word);
}
/// The first `"`, brace or bracket at or behind `at`, else `end`.
char const* find_structure(char const* at, char const* end);

/// key == word, without a call: the word's length is known when this is compiled.
template <size_t kSize>
bool is(std::string_view key, char const (&word)[kSize]) {
  return key.size() == kSize - 1 && std::memcmp(key.data(), word, kSize - 1) == 0;
}

/// The first that is no space, tab or line end at or behind `at`, else `end`.
inline char const* find_space_end(char const* at, char const* end) {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    __m128i const text = _mm_loadu_si128(reinterpret_cast<__m128i const*>(at));
    auto const equal = [text](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };

    __m128i const spaces =
        _mm_or_si128(_mm_or_si128(equal(' '), equal('\n')), _mm_or_si128(equal('\t'), equal('\r')));
    auto const others = ~static_cast<unsigned>(_mm_movemask_epi8(spaces)) & 0xFFFFU;
    if (others != 0) return at + std::countr_zero(others);
  }
#endif
  return std::find_if_not(at, end,
                          [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
}

class JsonCursor {
 public:
  enum class Failure : uint8_t {
    kNone,
    kEnd,    ///< the text ends in the middle of a value
    kBroken  ///< something else stands where a value or token must be
  };
  static constexpr int kMaxDepth = 1024;

  JsonCursor() = default;
  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  [[nodiscard]] size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  [[nodiscard]] Failure failure() const { return failure_; }
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }

  /// The next character that is no space, which is not consumed; 0 at the end of the text.
  [[gnu::always_inline]] char peek() {
    if (at_ != end_ && is_dark(*at_)) [[likely]]
      return *at_;
    if (end_ - at_ > 1 && *at_ == ' ' && is_dark(at_[1])) return *++at_;
    return peek_behind_spaces();
  }
  /// Consumes the next character when it is this one.
  [[gnu::always_inline]] bool take(char c) {
    if (peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  /// take() or fails.
  [[gnu::always_inline]] bool expect(char c) { return take(c) || fail(); }
  /// The string that stands here, without its quotes, escapes as they are; empty when it fails.
  [[gnu::always_inline]] std::string_view string() {
    if (!expect('"')) return {};
    char const* const first = at_;
    return skip_string() ? std::string_view(first, static_cast<size_t>(at_ - first - 1))
                         : std::string_view();
  }
  /// A value that is no object or array: of a string what stands between its quotes, else the word;
  /// empty when it fails.
  std::string_view scalar(bool& is_string) {
    is_string = peek() == '"';
    if (is_string) return string();
    char const* const first = at_;
    at_ = find_word_end(at_, end_);
    // A word that ends with the text may go on behind it.
    if (at_ == first || at_ == end_) {
      fail();
      return {};
    }
    return {first, static_cast<size_t>(at_ - first)};
  }
  /// Any value, as it stands; empty when it fails.
  std::string_view value();
  /// Forgets a failure and goes on behind `at`.
  void resume(size_t at) {
    at_ = begin_ + at;
    failure_ = Failure::kNone;
  }

  /// Calls visit(key) for each member of the object that stands here; visit consumes the value.
  /// False when it fails.
  template <class Visit>
  bool object(Visit&& visit) {
    if (!expect('{')) return false;
    if (take('}')) return true;

    for (;;) {
      std::string_view const key = string();
      if (failed() || !expect(':')) return false;

      visit(key);
      if (failed()) return false;
      if (take('}')) return true;
      if (!expect(',')) return false;
    }
  }

 private:
  static bool is_dark(char c) { return static_cast<unsigned char>(c) > ' '; }
  char peek_behind_spaces() {
    at_ = find_space_end(at_, end_);
    return at_ == end_ ? '\0' : *at_;
  }
  bool fail() {
    failure_ = at_ == end_ ? Failure::kEnd : Failure::kBroken;
    return false;
  }
  /// From behind the opening quote to behind the closing one.
  [[gnu::always_inline]] bool skip_string() {
    for (;;) {
      at_ = find_string_end(at_, end_);
      if (at_ == end_) return fail();
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      at_ += end_ - at_ < 2 ? 1 : 2;
    }
  }
  bool skip_nested();

  char const* begin_ = nullptr;
  char const* at_ = nullptr;
  char const* end_ = nullptr;
  Failure failure_ = Failure::kNone;
};

/// Text of a JSON string: escapes resolved, bytes that are no UTF-8 and control characters but line
/// ends and tabs replaced by U+FFFD. Longer texts than `most` bytes are cut.
std::string json_text(std::string_view raw, size_t most);

}  // namespace stepscope::import
