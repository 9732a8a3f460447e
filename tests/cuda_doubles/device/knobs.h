// Variables of the environment by which a test chooses what a double does. The table in
// docs/design/cuda_doubles.md lists them all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace stepscope::cuda_doubles {

inline int64_t number_of_knob(char const* name, int64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

/// Whether the comma-separated list of `name` has `word`.
inline bool knob_lists(char const* name, std::string_view word) {
  char const* const text = std::getenv(name);
  if (text == nullptr) return false;
  std::string const list = "," + std::string(text) + ",";
  return list.find("," + std::string(word) + ",") != std::string::npos;
}

/// A program did what the real library forbids: the test must see it.
[[noreturn]] inline void die(char const* library, std::string const& what) {
  std::fprintf(stderr, "double of %s: %s\n", library, what.c_str());
  std::abort();
}

}  // namespace stepscope::cuda_doubles
