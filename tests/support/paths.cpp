#include "tests/support/paths.h"

namespace stepscope::support {

std::string source_path(std::string_view inside) {
  return std::string(STEPSCOPE_SOURCE_DIR "/").append(inside);
}

std::string build_path(std::string_view inside) {
  return std::string(STEPSCOPE_BINARY_DIR "/").append(inside);
}

}  // namespace stepscope::support
