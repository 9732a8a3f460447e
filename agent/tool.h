// What a tool of the server is: its name and words, its arguments, and the function that answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/json_rpc.h"
#include "agent/run_store.h"
#include "trace/base/expected.h"

namespace stepscope::agent {

enum class ArgumentType : uint8_t { kText, kTexts, kNumber, kFlag };

/// One argument. The schema that clients see and the check of what they send come from it.
struct Argument {
  std::string_view name;
  ArgumentType type = ArgumentType::kText;
  bool is_required = false;
  std::string_view description;
  int64_t low = 0, high = 0, otherwise = 0;  ///< of numbers: both bounds, and what stands for none
};

/// Arguments that were checked: each is of its type, and no other is there.
class Arguments {
 public:
  /// Errors: what is wrong, with the argument that is meant.
  static base::Expected<Arguments> read(std::span<Argument const> known, Json const& sent);

  [[nodiscard]] bool has(std::string_view name) const { return sent_.contains(name); }
  /// Empty or false where it was not sent; a number is then Argument::otherwise.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] int64_t number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;

 private:
  Json sent_ = Json::object();
};

/// The JSON Schema of such arguments.
OrderedJson schema_of(std::span<Argument const> arguments);

struct Answer {
  std::string text;  ///< Markdown
  OrderedJson data;  ///< the same numbers, an object
};

/// What an answer is made with.
struct Question {
  Arguments arguments;
  RunStore& runs;
  std::function<bool()> is_cancelled;
};

struct Tool {
  std::string_view name, title, description;
  std::span<Argument const> arguments;
  std::string_view output_schema;  ///< JSON
  /// Errors: a message as the command line would print it.
  base::Expected<Answer> (*answer)(Question const& question);
};

/// THE list of tools: a tool is agent/tools/NAME.cpp and its row.
std::span<Tool const> tools();

}  // namespace stepscope::agent
