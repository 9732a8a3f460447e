#include "trace/import/common/json/cursor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>

namespace stepscope::import {
namespace {

bool is_structure(char c) {
  return c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}';
}  // | 0x20: of brackets their braces

/// The length of the UTF-8 sequence at the begin of `text`; 0 when there is no such sequence.
size_t utf8_length(std::string_view text) {
  auto const byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  auto const follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };

  uint8_t const first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first == 0xE0) return follows(1, 0xA0) && follows(2) ? 3 : 0;
  if (first == 0xED) return follows(1, 0x80, 0x9F) && follows(2) ? 3 : 0;
  if (first >= 0xE1 && first <= 0xEF) return follows(1) && follows(2) ? 3 : 0;
  if (first == 0xF0) return follows(1, 0x90) && follows(2) && follows(3) ? 4 : 0;
  if (first >= 0xF1 && first <= 0xF3) return follows(1) && follows(2) && follows(3) ? 4 : 0;
  if (first == 0xF4) return follows(1, 0x80, 0x8F) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

/// The objects and arrays that are open.
class Nesting {
 public:
  enum class Step : uint8_t { kDeeper, kClosed, kBroken };
  /// The next brace or bracket. kClosed: it was the last; kBroken: it closes what is not open, or
  /// is nested too deeply.
  Step add(char c) {
    if (c == '{' || c == '[') {
      if (depth_ == closing_.size()) return Step::kBroken;
      closing_[depth_++] = c == '{' ? '}' : ']';
    } else if (depth_ == 0 || closing_[--depth_] != c) {
      return Step::kBroken;
    }
    return depth_ == 0 ? Step::kClosed : Step::kDeeper;
  }

 private:
  std::array<char, JsonCursor::kMaxDepth>
      closing_;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  size_t depth_ = 0;
};

#if defined(__SSE2__)
/// Bit i: what the i-th of 64 bytes is.
struct Masks {
  uint64_t quotes = 0, escapes = 0, braces = 0;
};
constexpr ptrdiff_t kMaskBytes = 64;

Masks masks_of(char const* text) {
  __m128i const quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), open = _mm_set1_epi8('{'),
                close = _mm_set1_epi8('}');
  __m128i const lower = _mm_set1_epi8(0x20);

  auto const bits = [](__m128i equal) {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal)));
  };

  Masks masks;
  for (unsigned part = 0; part < 4; ++part) {
    __m128i const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(text + 16 * part));
    __m128i const lowered = _mm_or_si128(bytes, lower);
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, quote)) << (16 * part);
    masks.escapes |= bits(_mm_cmpeq_epi8(bytes, escape)) << (16 * part);
    masks.braces |=
        bits(_mm_or_si128(_mm_cmpeq_epi8(lowered, open), _mm_cmpeq_epi8(lowered, close)))
        << (16 * part);
  }

  return masks;
}

/// Bit i: whether an odd number of bits is set up to the i-th.
uint64_t prefix_xor(uint64_t bits) {
  for (unsigned distance = 1; distance < 64; distance *= 2) bits ^= bits << distance;
  return bits;
}
#endif

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

void append_code_point(uint32_t code, std::string& to) {
  bool const is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  bool const is_control =
      (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);

  if (is_surrogate || is_control || code > 0x10FFFF) {
    to += kReplacementCharacter;
  } else if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xC0 | (code >> 6U));
    to += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xE0 | (code >> 12U));
    to += static_cast<char>(0x80 | ((code >> 6U) & 0x3F));
    to += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    to += static_cast<char>(0xF0 | (code >> 18U));
    to += static_cast<char>(0x80 | ((code >> 12U) & 0x3F));
    to += static_cast<char>(0x80 | ((code >> 6U) & 0x3F));
    to += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Four hexadecimal digits behind "\u"; more than 0xFFFF when another character stands there.
uint32_t hex4(std::string_view digits) {
  constexpr uint32_t kNone = 0x110000;
  if (digits.size() < 4) return kNone;
  uint32_t code = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + 4, code, 16);
  return error == std::errc() && end == digits.data() + 4 ? code : kNone;
}

/// Appends what the escape at the begin of `text` (a backslash) stands for; returns its length.
size_t append_escape(std::string_view text, std::string& to) {
  if (text.size() < 2) return text.size();
  switch (text[1]) {
    case 'n':
      to += '\n';
      return 2;
    case 't':
      to += '\t';
      return 2;
    case '"':
    case '\\':
    case '/':
      to += text[1];
      return 2;
    case 'u':
      break;
    default:
      to += kReplacementCharacter;
      return 2;
  }

  uint32_t const code = hex4(text.substr(2));
  constexpr size_t kLength = 6;
  if (code >= 0xD800 && code <= 0xDBFF && text.substr(kLength).starts_with("\\u")) {
    uint32_t const low = hex4(text.substr(kLength + 2));
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_code_point(0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00), to);
      return 2 * kLength;
    }
  }
  append_code_point(code, to);
  return code > 0xFFFF ? 2 : kLength;
}

}  // namespace

char const* find_structure(char const* at, char const* end) {
#if defined(__SSE2__)
  __m128i const quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'),
                lower = _mm_set1_epi8(0x20);

  for (; end - at >= 16; at += 16) {
    __m128i const text = _mm_loadu_si128(reinterpret_cast<__m128i const*>(at));
    __m128i const lowered = _mm_or_si128(text, lower);
    __m128i const braces =
        _mm_or_si128(_mm_cmpeq_epi8(lowered, open), _mm_cmpeq_epi8(lowered, close));

    auto const found =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(text, quote), braces)));
    if (found != 0) return at + std::countr_zero(found);
  }
#endif
  return std::find_if(at, end, is_structure);
}

std::string_view JsonCursor::value() {
  char const c = peek();
  char const* const first = at_;
  bool is_string = false;
  if (c == '{' || c == '[') {
    if (!skip_nested()) return {};
  } else if (scalar(is_string); failed()) {
    return {};
  }
  return {first, static_cast<size_t>(at_ - first)};
}

/// An object or array. What stands in it is not looked at, but that it is closed as it was opened.
bool JsonCursor::skip_nested() {
  Nesting nesting;
  bool in_string = false;

#if defined(__SSE2__)
  // Most of the skipped text is short strings: looks at 64 bytes at once and masks out the bytes
  // within strings.
  while (end_ - at_ >= kMaskBytes) {
    Masks const masks = masks_of(at_);
    if (masks.escapes != 0) break;

    uint64_t const strings = prefix_xor(masks.quotes) ^ (in_string ? ~uint64_t{0} : 0);
    for (uint64_t left = masks.braces & ~strings; left != 0; left &= left - 1) {
      char const* const place = at_ + std::countr_zero(left);
      Nesting::Step const step = nesting.add(*place);
      if (step == Nesting::Step::kDeeper) continue;
      at_ = place + (step == Nesting::Step::kClosed ? 1 : 0);
      return step == Nesting::Step::kClosed || fail();
    }

    in_string = strings >> 63U != 0;
    at_ += kMaskBytes;
  }
#endif

  for (;;) {
    if (in_string && !skip_string()) return false;
    at_ = find_structure(at_, end_);
    if (at_ == end_) return fail();
    in_string = *at_ == '"';

    if (!in_string) {
      Nesting::Step const step = nesting.add(*at_);
      if (step == Nesting::Step::kBroken) return fail();
      if (step == Nesting::Step::kClosed) return ++at_, true;
    }
    ++at_;
  }
}

std::string json_text(std::string_view raw, size_t most) {
  std::string text;
  text.reserve(std::min(raw.size(), most));

  while (!raw.empty() && text.size() < most) {
    size_t length = 1;
    if (raw[0] == '\\') {
      length = append_escape(raw, text);
    } else if (length = utf8_length(raw); length == 0) {
      text += kReplacementCharacter;
      length = 1;
    } else if (length == 2 && raw[0] == '\xC2' && static_cast<uint8_t>(raw[1]) < 0xA0) {
      text += kReplacementCharacter;  // a control character of terminals
    } else if (length == 1) {
      append_code_point(static_cast<uint8_t>(raw[0]), text);
    } else {
      text += raw.substr(0, length);
    }

    raw.remove_prefix(length);
  }
  return text;
}

}  // namespace stepscope::import
