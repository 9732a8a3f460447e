#include "gate/json_fields.h"

#include <algorithm>
#include <cmath>

#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

using base::Expected;

/// "3:17" of a byte.
std::string place_of(std::string_view text, size_t byte) {
  std::string_view const before = text.substr(0, std::min(byte, text.size()));
  auto const line = std::count(before.begin(), before.end(), '\n') + 1;
  size_t const begin = before.rfind('\n');
  size_t const column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1);
  return fmt::format("{}:{}", line, std::max<size_t>(column, 1));
}

/// Nothing is built of what is nested too deep: a megabyte of brackets would take a hundred in
/// memory.
Expected<ReadJson> parse_shallow(std::string_view text, std::string const& path) {
  auto const is_kept = [](int depth, ReadJson::parse_event_t, ReadJson&) {
    return depth <= kMostDepth;
  };

  try {
    return ReadJson::parse(text, is_kept);
  } catch (ReadJson::exception const& error) {
    auto const* const parse = dynamic_cast<ReadJson::parse_error const*>(&error);
    std::string const where = parse != nullptr ? ":" + place_of(text, parse->byte) : std::string();
    return base::fail("{}{}: no JSON, restore the file or make it anew", path, where);
  }
}

/// None: no integer, or one beyond 64 bits.
std::optional<int64_t> whole_of(ReadJson const& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX}) return std::nullopt;
  return json.get<int64_t>();
}

/// Keys in a file may have any length.
constexpr size_t kMostMessageBytes = 300;

}  // namespace

bool is_document(std::string_view begin, std::string_view kind) {
  size_t const key = begin.find("\"kind\"");
  size_t const value = begin.find(fmt::format("\"{}\"", kind));
  return key != std::string_view::npos && value != std::string_view::npos && key < value;
}

Expected<ReadJson> parse_document(std::string_view text, std::string const& path,
                                  std::string_view kind, int64_t schema, size_t most_bytes) {
  if (text.size() > most_bytes)
    return base::fail("{}: {} are more than a {} has, restore the file or make it anew", path,
                      base::format_bytes(text.size()), kind);

  auto document = parse_shallow(text, path);
  if (!document) return document;
  auto const is_kind = [&](ReadJson const& json) {
    return json.is_object() && json.contains("kind") && json["kind"].is_string() &&
           json["kind"].get<std::string>() == kind;
  };
  if (!is_kind(*document)) return base::fail("{}: is no {}", path, kind);

  std::optional<std::string> error;
  int64_t const of_file = Fields(*document, {}, error).whole("schema", 1, INT64_MAX);
  if (error) return base::fail("{}: {}, make it anew", path, *error);
  if (of_file > schema)
    return base::fail(
        "{}: was written by a newer Stepscope (schema {}, this one knows {}): update Stepscope, or "
        "make it anew",
        path, of_file, schema);

  return document;
}

Fields::Fields(ReadJson const& object, std::string where, std::optional<std::string>& error)
    : object_(&object), where_(std::move(where)), error_(&error) {}

void Fields::fail(char const* key, std::string_view what) {
  if (*error_) return;
  std::string const name = base::valid_utf8(key, kMostMessageBytes);
  *error_ =
      base::printable(fmt::format("{}{}{} {}", where_, where_.empty() ? "" : ".", name, what));
}

ReadJson const* Fields::member(char const* key) {
  if (*error_) return nullptr;
  auto const found = object_->find(key);
  if (found != object_->end()) return &*found;
  fail(key, "is missing");
  return nullptr;
}

bool Fields::has(char const* key) const {
  auto const found = object_->find(key);
  return !*error_ && found != object_->end() && !found->is_null();
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> names;
  for (auto const& [name, value] : object_->items()) names.push_back(name);
  return names;
}

double Fields::number(char const* key, double low, double high) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return 0;
  // JSON has no NaN, and 1e999 is infinite.
  double const value = json->is_number() ? json->get<double>() : std::nan("");
  if (value >= low && value <= high) return value;
  fail(key, fmt::format("is no number from {:g} to {:g}", low, high));
  return 0;
}

int64_t Fields::whole(char const* key, int64_t low, int64_t high) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return 0;
  std::optional<int64_t> const value = whole_of(*json);
  if (value && *value >= low && *value <= high) return *value;
  fail(key, fmt::format("is no whole number from {} to {}", low, high));
  return 0;
}

bool Fields::boolean(char const* key) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return false;
  if (json->is_boolean()) return json->get<bool>();
  fail(key, "is neither true nor false");
  return false;
}

std::string Fields::text(char const* key, size_t most_bytes) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return {};
  if (json->is_string() && json->get_ref<std::string const&>().size() <= most_bytes)
    return json->get<std::string>();
  fail(key, fmt::format("is no text of at most {} bytes", most_bytes));
  return {};
}

ReadJson const* Fields::array(char const* key, size_t most) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return nullptr;
  if (json->is_array() && json->size() <= most) return json;
  fail(key, fmt::format("is no list of at most {}", most));
  return nullptr;
}

std::vector<std::string> Fields::texts(char const* key, size_t most, size_t most_bytes) {
  std::vector<std::string> values;
  ReadJson const* const json = array(key, most);
  if (json == nullptr) return values;

  for (ReadJson const& item : *json) {
    if (!item.is_string() || item.get_ref<std::string const&>().size() > most_bytes) {
      fail(key, fmt::format("has an item that is no text of at most {} bytes", most_bytes));
      return {};
    }
    values.push_back(item.get<std::string>());
  }

  return values;
}

std::vector<double> Fields::numbers(char const* key, std::optional<size_t> count, size_t most,
                                    double low, double high) {
  std::vector<double> values;
  ReadJson const* const json = array(key, most);
  if (json == nullptr) return values;

  if (count && json->size() != *count) {
    fail(key, fmt::format("has {} numbers, not {}", json->size(), *count));
    return values;
  }

  values.reserve(json->size());
  for (ReadJson const& item : *json) {
    double const value = item.is_number() ? item.get<double>() : std::nan("");
    if (!(value >= low && value <= high)) {
      fail(key, fmt::format("has an item that is no number from {:g} to {:g}", low, high));
      return {};
    }
    values.push_back(value);
  }

  return values;
}

std::vector<int64_t> Fields::wholes(char const* key, size_t most, int64_t low, int64_t high) {
  std::vector<int64_t> values;
  ReadJson const* const json = array(key, most);
  if (json == nullptr) return values;

  values.reserve(json->size());
  for (ReadJson const& item : *json) {
    std::optional<int64_t> const value = whole_of(item);
    if (!value || *value < low || *value > high) {
      fail(key, fmt::format("has an item that is no whole number from {} to {}", low, high));
      return {};
    }
    values.push_back(*value);
  }

  return values;
}

std::vector<Fields> Fields::objects(char const* key, size_t most) {
  std::vector<Fields> members;
  ReadJson const* const json = array(key, most);
  if (json == nullptr) return members;

  for (size_t i = 0; i < json->size(); ++i) {
    if (!(*json)[i].is_object()) {
      fail(key, "has an item that is no object");
      return {};
    }
    members.emplace_back(
        (*json)[i], fmt::format("{}{}{}[{}]", where_, where_.empty() ? "" : ".", key, i), *error_);
  }

  return members;
}

std::optional<Fields> Fields::object(char const* key) {
  ReadJson const* const json = member(key);
  if (json == nullptr) return std::nullopt;
  if (json->is_object()) return Fields(*json, where_.empty() ? key : where_ + "." + key, *error_);
  fail(key, "is no object");
  return std::nullopt;
}

WriteJson file_number(double value) {
  constexpr double kMostExact = 1e15;  // whole numbers of a double are
  if (value == std::floor(value) && std::abs(value) <= kMostExact)
    return static_cast<int64_t>(value);
  return value;
}

WriteJson file_numbers(std::vector<double> const& values) {
  WriteJson json = WriteJson::array();
  for (double const value : values) json.push_back(file_number(value));
  return json;
}

}  // namespace stepscope::gate
