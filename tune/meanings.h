// What a knob means to the replay: which change of `stepscope whatif` stands for another value of
// it. THE list is in meanings.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::tune {

/// The replay of a move from one value to another. Changes as `stepscope whatif --change` has them,
/// empty = none.
struct MeantChange {
  std::string estimate;  ///< about what the move gives
  std::string bound;     ///< at least what it can give; where both are there, the smaller counts
  [[nodiscard]] bool is_any() const { return !estimate.empty() || !bound.empty(); }
};

struct Meaning {
  char const* name;  ///< `means = "…"` in a space
  char const* what;  ///< for people
  MeantChange (*move)(std::string_view from, std::string_view to);
  /// The estimate of a knob that changes how much each kernel works on: from a recording at `from`
  /// and a second one at `probe`. Empty: the values are no sizes, or the first two are the same.
  /// Null: the knob needs no second recording.
  std::string (*with_probe)(std::string_view from, std::string_view probe,
                            std::string_view to) = nullptr;
};
std::span<Meaning const> meanings();
/// Null: no such meaning.
Meaning const* find_meaning(std::string_view name);
/// For messages.
std::string known_meanings();

/// "on", "true", "yes" and "1", whatever their case.
bool is_on(std::string_view value);

}  // namespace stepscope::tune
