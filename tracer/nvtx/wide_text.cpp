#include "tracer/nvtx/wide_text.h"

#include <cstdint>

namespace stepscope::tracer {
namespace {

void append_utf8(std::string& out, uint32_t code_point) {
  auto const put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  auto const tail = [&](unsigned shift) { put(0x80U | (code_point >> shift & 0x3FU)); };

  if (code_point < 0x80U) {
    put(code_point);
  } else if (code_point < 0x800U) {
    put(0xC0U | code_point >> 6U);
    tail(0);
  } else if (code_point < 0x10000U) {
    put(0xE0U | code_point >> 12U);
    tail(6);
    tail(0);
  } else {
    put(0xF0U | code_point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::string utf8_from_wide(wchar_t const* text, size_t max_bytes) {
  constexpr size_t kLongestCharacter = 4;
  constexpr uint32_t kReplacement = 0xFFFD;
  std::string out;

  if (text == nullptr) return out;
  for (; *text != L'\0' && out.size() + kLongestCharacter <= max_bytes; ++text) {
    uint32_t const code_point = static_cast<char32_t>(*text);
    bool const is_valid = code_point <= 0x10FFFFU && (code_point < 0xD800U || code_point > 0xDFFFU);
    append_utf8(out, is_valid ? code_point : kReplacement);
  }

  return out;
}

}  // namespace stepscope::tracer
