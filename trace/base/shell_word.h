// Paths and texts in command lines that people copy into a shell.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::base {

/// What sh takes for this one word: as it is, or in quotation marks. Control characters and bytes
/// that are no UTF-8, which a terminal may obey or lose, are written as bash, zsh and ksh read
/// them: $'\033'. The result holds neither.
std::string shell_word(std::string_view text);

}  // namespace stepscope::base
