#include "tests/support/sanitized.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
#define STEPSCOPE_SANITIZED true
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STEPSCOPE_SANITIZED true
#endif
#endif
#ifndef STEPSCOPE_SANITIZED
#define STEPSCOPE_SANITIZED false
#endif

namespace stepscope::support {

bool const kSanitized = STEPSCOPE_SANITIZED;

}  // namespace stepscope::support
