#include "trace/import/common/advice.h"

#include <algorithm>
#include <cctype>

namespace stepscope::import {

bool claims_to_be_trace(std::string_view file_name) {
  std::string name(file_name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("rank") != std::string::npos || name.find("trace") != std::string::npos;
}

}  // namespace stepscope::import
