#include "trace/import/formats/flight_recorder/plain_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/common/json/cursor.h"

namespace stepscope::import {

PlainValue PlainData::integer(int64_t number) {
  PlainValue value;
  value.type = PlainType::kInteger;
  value.integer = number;
  return value;
}

PlainValue PlainData::boolean(bool is_true) {
  PlainValue value = integer(is_true ? 1 : 0);
  value.type = PlainType::kBool;
  return value;
}

PlainValue PlainData::real(double number) {
  PlainValue value;
  value.type = PlainType::kReal;
  value.real = number;
  return value;
}

PlainValue PlainData::text(std::string_view characters, PlainType type) {
  PlainValue value;
  value.type = type;
  value.text_bytes = static_cast<uint32_t>(std::min<size_t>(characters.size(), UINT32_MAX));
  value.text = characters.data();
  return value;
}

PlainValue PlainData::container(PlainType type) {
  PlainValue value;
  value.type = type;
  value.container = containers_.size();
  containers_.emplace_back();
  return value;
}

bool PlainData::append(PlainValue const& container, std::span<PlainValue const> values) {
  Items& to = containers_[container.container];
  if (to.count + values.size() > to.capacity) {
    bool const is_last = to.first + to.capacity == items_.size() && to.capacity > 0;
    size_t const capacity =
        to.capacity == 0 ? values.size() : std::max(2 * to.capacity, to.count + values.size());
    size_t const first = is_last ? to.first : items_.size();

    if (is_too_much_with(first + capacity - items_.size())) return false;
    items_.resize(first + capacity);
    if (!is_last)
      std::copy_n(items_.begin() + static_cast<ptrdiff_t>(to.first), to.count,
                  items_.begin() + static_cast<ptrdiff_t>(first));

    to.first = first;
    to.capacity = capacity;
  }

  std::copy(values.begin(), values.end(),
            items_.begin() + static_cast<ptrdiff_t>(to.first + to.count));
  to.count += values.size();
  return true;
}

std::string PlainData::too_many_values() const {
  return fmt::format(
      "holds more than {} values: no dump of its size does, or this machine's memory has no room: "
      "record fewer calls (TORCH_NCCL_TRACE_BUFFER_SIZE). If all of it is meant, unpack it by hand "
      "or use a machine with more memory",
      base::format_count(most_values_));
}

std::span<PlainValue const> PlainData::items(PlainValue const& value) const {
  if (value.type != PlainType::kList && value.type != PlainType::kDict) return {};
  Items const& of = containers_[value.container];
  return std::span(items_).subspan(of.first, of.count);
}

std::string_view raw_text(PlainValue const& value) {
  bool const is_text = value.type == PlainType::kText || value.type == PlainType::kJsonText;
  return is_text ? std::string_view(value.text, value.text_bytes) : std::string_view();
}

std::string shown_text(PlainValue const& value, size_t most) {
  std::string_view const raw = raw_text(value);
  if (value.type == PlainType::kJsonText) return json_text(raw, most);

  // The same cleaning, but a backslash is one.
  std::string text;
  for (size_t at = 0; at < raw.size() && text.size() < most;) {
    size_t const next = std::min(raw.find('\\', at), raw.size());
    text += json_text(raw.substr(at, next - at), most - text.size());
    if (next < raw.size()) text += '\\';
    at = next + 1;
  }

  return text;
}

std::optional<int64_t> whole_number(PlainValue const& value) {
  constexpr double kMost = 9e18;
  if (value.type == PlainType::kInteger || value.type == PlainType::kBool) return value.integer;
  if (value.type == PlainType::kReal)
    return std::fabs(value.real) < kMost ? std::optional(static_cast<int64_t>(value.real))
                                         : std::nullopt;

  std::string_view const text = raw_text(value);
  int64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

std::optional<double> real_number(PlainValue const& value) {
  if (value.type == PlainType::kReal)
    return std::isfinite(value.real) ? std::optional(value.real) : std::nullopt;
  auto const whole = whole_number(value);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

}  // namespace stepscope::import
