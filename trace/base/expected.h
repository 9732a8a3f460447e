// Expected<T>: a value, or an Error whose message names the file, offset or call and says what to
// do. For faults of the world (files, devices, input); the caller's faults are STEPSCOPE_CHECKs.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace stepscope::base {

/// `message` completes the sentence "stepscope: ...": "<file>: <what>, <what to do>".
struct Error {
  std::string message;
  bool unsupported = false;  ///< who was asked cannot do it at all; another one may
};

template <class T>
using Expected = tl::expected<T, Error>;

/// return fail("{}: cannot open ({}), check the path", path, reason);
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// fail() with Error::unsupported.
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail_unsupported(fmt::format_string<Args...> format,
                                                     Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...), true});
}

/// Hands on the error of another Expected.
template <class T>
[[nodiscard]] tl::unexpected<Error> fail_with(Expected<T> const& failed) {
  return tl::unexpected<Error>(failed.error());
}

}  // namespace stepscope::base
