#include "agent/tool.h"

#include <algorithm>

#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

constexpr size_t kMostTexts = 64;

std::string_view type_name(ArgumentType type) {
  switch (type) {
    case ArgumentType::kText:
      return "a text";
    case ArgumentType::kTexts:
      return "a list of texts";
    case ArgumentType::kNumber:
      return "a whole number";
    case ArgumentType::kFlag:
      break;
  }
  return "true or false";
}

bool is_of_type(ArgumentType type, Json const& value) {
  switch (type) {
    case ArgumentType::kText:
      return value.is_string();
    case ArgumentType::kTexts:
      return value.is_array() && value.size() <= kMostTexts &&
             std::all_of(value.begin(), value.end(),
                         [](Json const& each) { return each.is_string(); });
    case ArgumentType::kNumber:
      return value.is_number_integer();
    case ArgumentType::kFlag:
      break;
  }
  return value.is_boolean();
}

/// Errors: the value is not of the argument.
base::Expected<void> check(Argument const& argument, Json const& value) {
  if (!is_of_type(argument.type, value))
    return base::fail("{}: has to be {}", argument.name, type_name(argument.type));
  if (argument.type != ArgumentType::kNumber) return {};

  bool const is_huge = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (is_huge || value.get<int64_t>() < argument.low || value.get<int64_t>() > argument.high)
    return base::fail("{}: is not a whole number from {} to {}", argument.name, argument.low,
                      argument.high);
  return {};
}

OrderedJson schema_of_type(Argument const& argument) {
  switch (argument.type) {
    case ArgumentType::kText:
      return {{"type", "string"}};
    case ArgumentType::kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}, {"maxItems", kMostTexts}};
    case ArgumentType::kNumber:
      return {{"type", "integer"},
              {"minimum", argument.low},
              {"maximum", argument.high},
              {"default", argument.otherwise}};
    case ArgumentType::kFlag:
      break;
  }
  return {{"type", "boolean"}};
}

}  // namespace

base::Expected<Arguments> Arguments::read(std::span<Argument const> known, Json const& sent) {
  if (!sent.is_object()) return base::fail("the arguments have to be an object");
  std::string names;
  for (Argument const& argument : known) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", argument.name);
    if (argument.is_required && !sent.contains(argument.name))
      return base::fail("{}: is missing, it is {}", argument.name, argument.description);
  }

  for (auto const& one : sent.items()) {
    auto const argument = std::find_if(
        known.begin(), known.end(), [&](Argument const& each) { return each.name == one.key(); });
    if (argument == known.end())
      return base::fail("{}: is no argument of this tool, which takes {}",
                        base::printable(one.key()), names);
    if (auto const good = check(*argument, one.value()); !good) return base::fail_with(good);
  }

  Arguments read;
  for (Argument const& argument : known)
    if (argument.type == ArgumentType::kNumber) read.sent_[argument.name] = argument.otherwise;
  read.sent_.update(sent);
  return read;
}

std::string Arguments::text(std::string_view name) const {
  return has(name) ? sent_.at(name).get<std::string>() : std::string();
}
std::vector<std::string> Arguments::texts(std::string_view name) const {
  return has(name) ? sent_.at(name).get<std::vector<std::string>>() : std::vector<std::string>();
}
int64_t Arguments::number(std::string_view name) const { return sent_.at(name).get<int64_t>(); }
bool Arguments::flag(std::string_view name) const {
  return has(name) && sent_.at(name).get<bool>();
}

OrderedJson schema_of(std::span<Argument const> arguments) {
  OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
  for (Argument const& argument : arguments) {
    OrderedJson& property = properties[std::string(argument.name)] = schema_of_type(argument);
    property["description"] = argument.description;
    if (argument.is_required) required.push_back(argument.name);
  }

  OrderedJson schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace stepscope::agent
