// STEPSCOPE_CHECK: the caller broke a documented precondition. On in every build; prints where and
// aborts.
#pragma once

namespace stepscope::base {

[[noreturn]] void check_failed(char const* condition, char const* file, int line);

}  // namespace stepscope::base

#define STEPSCOPE_CHECK(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::stepscope::base::check_failed(#condition, __FILE__, __LINE__))
