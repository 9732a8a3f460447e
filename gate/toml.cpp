#include "gate/toml.h"

#include <algorithm>
#include <utility>

#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

/// toml++ 3.3 asks of signs whether they are blanks, and outside of ASCII has no defined answer for
/// many (U+00A1 to U+0499 among them). No key or limit needs one; in comments and names they become
/// a sign for which it has. Columns stay; what is no UTF-8 stays too, and is refused with its
/// place.
std::string with_known_signs(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kKnownSign = "\xEF\xBF\xBD";
  std::string result;
  result.reserve(text.size());

  if (text.starts_with(kByteOrderMark)) {
    result += kByteOrderMark;
    text.remove_prefix(kByteOrderMark.size());
  }

  while (!text.empty()) {
    size_t const length = std::max<size_t>(base::utf8_length(text), 1);
    result += length > 1 ? kKnownSign : text.substr(0, 1);
    text.remove_prefix(length);
  }

  return result;
}

}  // namespace

base::Expected<toml::table> parse_toml(std::string_view text, std::string const& path) {
  toml::parse_result document = toml::parse(with_known_signs(text));
  if (document) return std::move(document).table();

  auto const& where = document.error().source().begin;
  return base::fail("{}:{}:{}: {}", path, where.line, where.column,
                    base::printable(document.error().description()));
}

}  // namespace stepscope::gate
