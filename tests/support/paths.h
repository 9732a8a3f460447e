// Where test programs find the sources (documents, data) and what the build made (bin/, lib/,
// tests/). Relative paths in the bundle.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::support {

/// The path of `inside` ("docs/reference/FINDINGS.md") in the source tree.
std::string source_path(std::string_view inside);

/// The path of `inside` ("bin/stepscope") in the build folder.
std::string build_path(std::string_view inside);

}  // namespace stepscope::support
