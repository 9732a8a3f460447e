// The members of a JSON object, read in the programs that are recorded. The tree of nlohmann/json
// takes memory when it is destroyed, and aborts the program where memory has run out. This object
// takes its members as they are read, and none when it is destroyed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stepscope::tracer {

/// Strings and integers of an object. Lists, objects and other numbers in it are left out.
class FlatObject {
 public:
  /// nullopt, when the text is no JSON or is no object. Throws std::bad_alloc.
  static std::optional<FlatObject> parse(std::string_view text);

  /// The member of this name and type; nullptr without one. Where a name repeats, its last member
  /// counts, as in a tree.
  [[nodiscard]] std::string const* string(std::string_view name) const;
  [[nodiscard]] int64_t const* integer(std::string_view name) const;

 private:
  using Value = std::variant<std::monostate, int64_t, std::string>;

  class Filler;
  [[nodiscard]] Value const* find(std::string_view name) const;

  std::vector<std::pair<std::string, Value>> members_;
};

}  // namespace stepscope::tracer
