#include "tests/support/json_schema.h"

#include <algorithm>
#include <array>

namespace stepscope::support {
namespace {

using Json = nlohmann::json;

bool is_of_type(Json const& value, std::string const& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

class Validator {
 public:
  explicit Validator(Json const& root) : root_(root) {}

  void check(Json const& schema, Json const& value, std::string const& at) {
    static constexpr std::array kKnown{
        "type",  "const", "enum", "properties",  "required", "additionalProperties",
        "items", "anyOf", "$ref", "description", "title",    "$schema",
        "$defs"};
    for (auto const& [keyword, rule] : schema.items())
      if (std::find(kKnown.begin(), kKnown.end(), keyword) == kKnown.end())
        fault(at, "unknown keyword " + keyword);

    if (schema.contains("$ref")) {
      Json::json_pointer const target(schema["$ref"].get<std::string>().substr(1));
      return check(root_.at(target), value, at);
    }
    if (schema.contains("anyOf")) return check_any(schema["anyOf"], value, at);

    if (schema.contains("const") && schema["const"] != value)
      fault(at, "is " + value.dump() + ", not " + schema["const"].dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      fault(at, value.dump() + " is none of " + schema["enum"].dump());
    if (schema.contains("type") && !has_type(schema["type"], value))
      return fault(at, std::string("is ") + value.type_name() + ", not " + schema["type"].dump());

    if (value.is_object() && schema.value("type", "") == "object") check_object(schema, value, at);
    if (value.is_array() && schema.contains("items"))
      for (size_t i = 0; i < value.size(); ++i)
        check(schema["items"], value[i], at + "/" + std::to_string(i));
  }
  std::vector<std::string> faults() && { return std::move(faults_); }

 private:
  static bool has_type(Json const& types, Json const& value) {
    if (types.is_string()) return is_of_type(value, types);
    return std::any_of(types.begin(), types.end(),
                       [&](Json const& type) { return is_of_type(value, type); });
  }

  /// The faults of the first alternative, when none holds: in ours the second is null.
  void check_any(Json const& alternatives, Json const& value, std::string const& at) {
    std::vector<std::string> first;
    for (Json const& alternative : alternatives) {
      Validator one(root_);
      one.check(alternative, value, at);
      if (one.faults_.empty()) return;
      if (first.empty()) first = std::move(one.faults_);
    }
    faults_.insert(faults_.end(), first.begin(), first.end());
  }

  void check_object(Json const& schema, Json const& value, std::string const& at) {
    for (Json const& key : schema.value("required", Json::array()))
      if (!value.contains(key)) fault(at, "lacks " + key.get<std::string>());

    Json const properties = schema.value("properties", Json::object());
    for (auto const& [key, of_key] : value.items()) {
      if (properties.contains(key))
        check(properties[key], of_key, at + "/" + key);
      else if (schema.contains("additionalProperties"))
        check(schema["additionalProperties"], of_key, at + "/" + key);
      else
        fault(at, key + " is not in the schema");
    }
  }

  void fault(std::string const& at, std::string const& what) {
    faults_.push_back((at.empty() ? "/" : at) + ": " + what);
  }

  Json const& root_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> schema_faults(nlohmann::json const& schema, nlohmann::json const& value) {
  Validator validator(schema);
  validator.check(schema, value, "");
  return std::move(validator).faults();
}

}  // namespace stepscope::support
