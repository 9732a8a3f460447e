// The catalogues that are built into the program: JSON, {"program": {"English": "said instead"},
// "script": {…}}.
#pragma once

#include <string_view>

namespace stepscope::reports {

std::string_view chinese_words();

}  // namespace stepscope::reports
