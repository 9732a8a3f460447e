#include "agent/tools/code_text.h"

#include "reports/words/labels.h"

namespace stepscope::agent {

std::string in_code(std::string_view text, size_t limit) {
  std::string code = "`";
  for (char const sign : reports::shown(text, limit)) {
    if (sign == '|') code += '\\';
    code += sign == '`' ? '\'' : sign;
  }
  return code + "`";
}

}  // namespace stepscope::agent
