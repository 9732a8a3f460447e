// How many columns of a terminal a text takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope::base {

/// The text is UTF-8. The system's tables say two for emoji and most Chinese and Japanese
/// characters, none for marks on the letter before. A byte that is no character takes one.
size_t columns_of(std::string_view text);

/// The text in at most so many columns (at least 1); what is cut ends with "…".
std::string cut_to_columns(std::string_view text, size_t columns);

}  // namespace stepscope::base
