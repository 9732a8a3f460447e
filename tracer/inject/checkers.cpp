#include "tracer/inject/checkers.h"

// In programs that are built with them.
extern "C" {
__attribute__((weak, visibility("default"))) void
__msan_init();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
__attribute__((weak, visibility("default"))) void
__tsan_init();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
}

#if defined(__has_feature)
#define STEPSCOPE_HAS_FEATURE(name) __has_feature(name)
#else
#define STEPSCOPE_HAS_FEATURE(name) 0
#endif

namespace stepscope::tracer {
namespace {

// Ours too, in tests of this library.
#if defined(__SANITIZE_THREAD__) || STEPSCOPE_HAS_FEATURE(thread_sanitizer)
constexpr bool kIsCheckedItself = true;
#else
constexpr bool kIsCheckedItself = false;
#endif

}  // namespace

std::string_view why_checked_program_is_left_alone() {
  if (kIsCheckedItself) return {};
  if (__msan_init != nullptr)
    return "stepscope: this program is not recorded: it is built with -fsanitize=memory, which "
           "takes what a recorder writes for faults of the program; build it without";
  if (__tsan_init != nullptr)
    return "stepscope: this program is not recorded: it is built with -fsanitize=thread, which "
           "takes what a recorder hands between "
           "its threads for faults of the program; build it without";
  return {};
}

}  // namespace stepscope::tracer
