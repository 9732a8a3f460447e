#include "trace/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stepscope::base {

void check_failed(char const* condition, char const* file, int line) {
  std::fprintf(stderr, "stepscope: internal error: %s does not hold (%s:%d), please report this\n",
               condition, file, line);
  std::abort();
}

}  // namespace stepscope::base
