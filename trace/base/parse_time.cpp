#include "trace/base/parse_time.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "trace/base/format.h"

namespace stepscope::base {
namespace {

constexpr double kMostNs = 1e18;  // 31 years: well within what a trace's times can be

std::optional<double> parse_instant(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}}};
  double value = 0;
  char const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  std::string_view const unit(rest, static_cast<size_t>(end - rest));
  for (auto const& [name, ns] : kUnits)
    if (unit == name && value >= 0 && value * ns <= kMostNs) return value * ns;
  return std::nullopt;
}

}  // namespace

Expected<TimeRange> parse_time_range(std::string_view text) {
  size_t const colon = text.find(':');
  if (colon != std::string_view::npos) {
    auto const begin = parse_instant(text.substr(0, colon));
    auto const end = parse_instant(text.substr(colon + 1));
    if (begin && end && *begin < *end) return TimeRange{*begin, *end};
  }
  return fail(
      "--time {}: not a range of time, write begin:end, for example 1.5s:1600ms or, in seconds, "
      "1.5:1.6",
      printable(text));
}

Expected<int64_t> parse_duration(std::string_view text, std::string_view option) {
  if (auto const ns = parse_instant(text)) return static_cast<int64_t>(*ns);
  return fail("{} {}: not a time, write for example 500ms or, in seconds, 2.5", option,
              printable(text));
}

}  // namespace stepscope::base
