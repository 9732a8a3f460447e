#include "tracer/requests/flat_object.h"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

namespace stepscope::tracer {

/// What nlohmann's parser calls, from front to back.
class FlatObject::Filler {
 public:
  using Json = nlohmann::json;

  explicit Filler(FlatObject& into) : into_(into) {}

  bool null() { return add({}); }
  bool boolean(bool /*unused*/) { return add({}); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) {
    return add(std::in_range<int64_t>(value) ? Value(static_cast<int64_t>(value)) : Value());
  }
  bool number_float(Json::number_float_t /*unused*/, Json::string_t const& /*unused*/) {
    return add({});
  }
  bool string(Json::string_t& value) { return add(std::move(value)); }
  bool binary(Json::binary_t& /*unused*/) { return add({}); }

  bool start_object(size_t /*unused*/) { return open(); }
  bool start_array(size_t /*unused*/) { return depth_ > 0 && open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(Json::string_t& name) {
    if (depth_ == 1) into_.members_.emplace_back(std::move(name), Value());
    return true;
  }
  static bool parse_error(size_t /*unused*/, std::string const& /*unused*/,
                          Json::exception const& /*unused*/) {
    return false;
  }

 private:
  /// Text that is a value alone is no object. What lies deeper than the members is not kept.
  bool add(Value value) {
    if (depth_ == 1) into_.members_.back().second = std::move(value);
    return depth_ > 0;
  }
  bool open() {
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  FlatObject& into_;
  size_t depth_ = 0;
};

std::optional<FlatObject> FlatObject::parse(std::string_view text) {
  FlatObject object;
  Filler filler(object);
  if (!nlohmann::json::sax_parse(text, &filler)) return {};
  return object;
}

std::string const* FlatObject::string(std::string_view name) const {
  Value const* const found = find(name);
  return found == nullptr ? nullptr : std::get_if<std::string>(found);
}

int64_t const* FlatObject::integer(std::string_view name) const {
  Value const* const found = find(name);
  return found == nullptr ? nullptr : std::get_if<int64_t>(found);
}

FlatObject::Value const* FlatObject::find(std::string_view name) const {
  auto const found = std::find_if(members_.rbegin(), members_.rend(),
                                  [&](auto const& member) { return member.first == name; });
  return found == members_.rend() ? nullptr : &found->second;
}

}  // namespace stepscope::tracer
