#include "analyzer/metrics/steps/interleave.h"

#include <charconv>
#include <string>
#include <string_view>

namespace stepscope::analyzer {
namespace {

/// From the begin of the text, which it takes away.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<InterleaveTurns> turns_of(model::TraceInfo const& info) {
  for (auto const& [name, value] : info.facts) {
    if (name != kTurnsFact) continue;

    constexpr std::string_view kOf = " of ", kSteps = " steps";
    std::string_view text = value;
    auto const count = take_number(text);
    if (!count || !text.starts_with(kOf)) return {};
    text.remove_prefix(kOf.size());
    auto const steps = take_number(text);
    if (!steps || *steps < 2 || text != kSteps) return {};

    return InterleaveTurns{*count, *steps};
  }
  return {};
}

}  // namespace stepscope::analyzer
