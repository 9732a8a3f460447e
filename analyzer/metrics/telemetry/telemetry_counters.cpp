// The meaning of counters by their names.
#include <algorithm>
#include <array>
#include <string>

#include "analyzer/metrics/telemetry/device_telemetry.h"

namespace stepscope::analyzer {
namespace {

using What = CounterMeaning::What;

/// In lower case, with everything but letters and digits as one blank, and blanks around: words can
/// be looked for.
std::string words_of_counter(std::string_view name) {
  std::string words = " ";
  for (char const c : name) {
    bool const is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c >= 'A' && c <= 'Z')
      words += static_cast<char>(c - 'A' + 'a');
    else if (is_word || words.back() != ' ')
      words += is_word ? c : ' ';
  }
  return words + ' ';
}

struct CounterUnit {
  std::string_view word;
  double scale;
};
/// A scale for the value of a name with one of the units; 1 without: then it is the usual one.
template <size_t N>
double scale_of(std::string const& words, std::array<CounterUnit, N> const& units) {
  for (CounterUnit const& unit : units)
    if (words.find(unit.word) != std::string::npos) return unit.scale;
  return 1;
}

}  // namespace

std::optional<CounterMeaning> meaning_of_counter(std::string_view name) {
  constexpr std::array<CounterUnit, 4> kClocks = {
      {{" mhz ", 1}, {" khz ", 1e-3}, {" ghz ", 1e3}, {" hz ", 1e-6}}};
  constexpr std::array<CounterUnit, 2> kPowers = {{{" mw ", 1e-3}, {" kw ", 1e3}}};
  std::string const words = words_of_counter(name);
  auto const has = [&](std::string_view part) { return words.find(part) != std::string::npos; };
  if (has(" cpu ") || has(" host ") || has(" core ")) return std::nullopt;

  bool const of_memory = has(" mem") || has(" hbm") || has(" dram ");
  if (has("throttl") || has(" clock limits ") || has(" clocks event reasons "))
    return CounterMeaning{What::kLimits, 1, false, has(" bits ") || has(" reasons ")};

  if (has(" limit") || has(" cap ") || has(" max ") || has(" target ")) return std::nullopt;
  if (has(" clock ") || has(" frequency ") || has(" freq ")) {
    double const scale = scale_of(words, kClocks);
    if (of_memory) return CounterMeaning{What::kMemoryClock, scale};
    if (has(" sm ") || has(" gpc ") || has(" graphics ") || has(" gpu ") || has(" gr "))
      return CounterMeaning{What::kSmClock, scale};
    return std::nullopt;
  }

  if (of_memory) return std::nullopt;
  if (has(" power "))
    return CounterMeaning{What::kPower, scale_of(words, kPowers), has(" average ")};
  if (has(" temperature ") || has(" temp ")) return CounterMeaning{What::kTemperature};
  if (has(" gpu utilization ")) return CounterMeaning{What::kUtilization};
  return std::nullopt;
}

}  // namespace stepscope::analyzer
