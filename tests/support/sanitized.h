// Whether the tests run under the address or thread sanitizer, where everything takes five to
// twenty times as long. Tests with very many cases try a part of them there; the release build
// tries all.
#pragma once

namespace stepscope::support {

/// Not a constant of the header: with the address sanitizer the tests' own code is compiled as
/// without (cmake/targets.cmake).
extern bool const kSanitized;

}  // namespace stepscope::support
