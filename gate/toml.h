// TOML as the files of this project are read: toml++ without exceptions. Sources that include this
// are compiled alone, since it decides what toml++ does with what is wrong in a file.
#pragma once

#include <string>
#include <string_view>

// Errors as values: no exception crosses a library. The assertions of toml++ are off: version 3.3
// asserts what the input "[=" breaks, and reports the error in the next line. With NDEBUG the
// compiler would assume that they hold.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "trace/base/expected.h"

namespace stepscope::gate {

/// Letters outside of ASCII become U+FFFD, see toml.cpp: a value that needs one is not usable.
/// Errors: `path`:line:column and what is wrong there.
base::Expected<toml::table> parse_toml(std::string_view text, std::string const& path);

}  // namespace stepscope::gate
