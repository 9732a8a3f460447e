#include "tracer/core/flight/flight_options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>

#include "trace/base/format.h"
#include "trace/base/parse_time.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;

constexpr std::array<std::pair<std::string_view, double>, 4> kByteUnits = {
    {{"MB", 1e6}, {"GB", 1e9}, {"MiB", double{1 << 20}}, {"GiB", double{1 << 30}}}};
constexpr std::array<std::pair<std::string_view, int>, 4> kSignals = {
    {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}}};

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// What stands between the commas, without blanks.
std::vector<std::string> parts_of(std::string const& text) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == ',')
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  }
  return parts;
}

bool take_unit(std::string_view& text, std::string_view unit) {
  if (!text.ends_with(unit)) return false;
  text.remove_suffix(unit.size());
  return true;
}

std::optional<int64_t> parse_steps_part(std::string_view text) {
  int64_t steps = 0;
  if (!take_unit(text, "steps") && !take_unit(text, "step")) return {};
  constexpr int64_t kMost = 1'000'000'000;
  bool const is_possible = parse_whole(text, steps) && steps > 0 && steps <= kMost;
  return is_possible ? std::optional(steps) : std::nullopt;
}

std::optional<double> parse_bytes_part(std::string_view text) {
  for (auto const& [unit, bytes] : kByteUnits) {
    std::string_view number = text;
    double value = 0;
    if (take_unit(number, unit) && parse_whole(number, value) && value > 0) return value * bytes;
  }
  return {};
}

/// A number alone is no time here: it may be meant as steps.
std::optional<int64_t> parse_time_part(std::string_view text) {
  if (!text.ends_with('s')) return {};
  auto const ns = base::parse_duration(text, "--ring");
  return ns && *ns > 0 ? std::optional(*ns) : std::nullopt;
}

}  // namespace

Expected<FlightOptions> parse_ring(std::string const& text) {
  constexpr double kMostBytes = 1e15;
  FlightOptions options;
  bool has_bytes = false;

  for (std::string const& part : parts_of(text)) {
    auto const steps = parse_steps_part(part);
    auto const bytes = parse_bytes_part(part);
    auto const ns = parse_time_part(part);

    bool const is_twice = (steps && options.steps) || (bytes && has_bytes) || (ns && options.ns);
    if (is_twice || (!steps && !bytes && !ns))
      return fail(
          "--ring {}: write how much to keep, such as 60s, 50steps or 200MB, or two of them with "
          "a comma between",
          base::printable(text));
    if (bytes && (*bytes < static_cast<double>(kMinRingBytes) || *bytes > kMostBytes))
      return fail("--ring {}: give at least {}", base::printable(text),
                  base::format_bytes(kMinRingBytes));

    if (steps) options.steps = steps;
    if (ns) options.ns = ns;
    if (bytes) options.bytes = static_cast<size_t>(*bytes);
    has_bytes = has_bytes || bytes.has_value();
  }
  return options;
}

Expected<double> parse_slow_step(std::string const& text) {
  std::string_view number = text;
  take_unit(number, "x");
  double factor = 0;
  if (parse_whole(number, factor) && factor > 1 && std::isfinite(factor)) return factor;
  return fail("--on-slow-step {}: write how many times the usual step, such as 1.3x",
              base::printable(text));
}

Expected<int> parse_ring_signal(std::string const& text) {
  for (auto const& [name, number] : kSignals)
    if (text == name) return number;
  return fail("--on-signal {}: write USR1 or USR2", base::printable(text));
}

std::string to_variable(FlightOptions const& options) {
  return fmt::format("{} {} {} {} {} {} {}", options.ns.value_or(0), options.steps.value_or(0),
                     options.bytes, options.slow_step, options.hang_ns,
                     static_cast<int>(options.on_nan), options.signal);
}

std::optional<FlightOptions> from_variable(std::string const& text) {
  std::array<std::string_view, 7> words;
  size_t count = 0;
  for (std::string_view rest = text; !rest.empty();) {
    size_t const end = std::min(rest.find(' '), rest.size());
    if (count == words.size()) return {};
    words[count++] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }

  FlightOptions options;
  int64_t ns = 0, steps = 0;
  int on_nan = 0;
  bool const is_good = count == words.size() && parse_whole(words[0], ns) &&
                       parse_whole(words[1], steps) && parse_whole(words[2], options.bytes) &&
                       parse_whole(words[3], options.slow_step) &&
                       parse_whole(words[4], options.hang_ns) && parse_whole(words[5], on_nan) &&
                       parse_whole(words[6], options.signal);

  bool const is_possible =
      is_good && ns >= 0 && steps >= 0 && options.hang_ns >= 0 && options.bytes >= kMinRingBytes &&
      options.slow_step >= 0 &&
      (options.signal == 0 || options.signal == SIGUSR1 || options.signal == SIGUSR2);
  if (!is_possible) return {};

  if (ns > 0) options.ns = ns;
  if (steps > 0) options.steps = steps;
  options.on_nan = on_nan != 0;
  return options;
}

std::string describe(FlightOptions const& options) {
  std::vector<std::string> bounds;
  if (options.ns) bounds.push_back(base::format_duration(*options.ns));
  if (options.steps)
    bounds.push_back(base::format_count(static_cast<uint64_t>(*options.steps), "step"));
  if (bounds.empty() || options.bytes != kDefaultRingBytes)
    bounds.push_back(base::format_bytes(options.bytes));
  return fmt::format("the last {}", fmt::join(bounds, " or "));
}

}  // namespace stepscope::tracer
