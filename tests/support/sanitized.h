// Whether the tests run under the address or thread sanitizer, where everything takes five to twenty times as long: tests that
// try very many cases try a part of them there, the release build tries all.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
#define STEPSCOPE_SANITIZED
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STEPSCOPE_SANITIZED
#endif
#endif

namespace stepscope::support {

#ifdef STEPSCOPE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace stepscope::support
