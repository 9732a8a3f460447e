#include "tune/space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::tune {
namespace {

using base::Expected;
using base::fail;

constexpr size_t kMostNameBytes = 64;

bool is_knob_name(std::string_view name) {
  auto const is_good = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
  };
  return !name.empty() && name.size() <= kMostNameBytes && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_good);
}

Expected<void> check_knob(Knob const& knob) {
  std::string const name = base::printable(base::valid_utf8(knob.name, kMostNameBytes));
  if (!is_knob_name(knob.name))
    return fail("knob \"{}\": a name has letters, digits, - and _, and at most {} of them", name,
                kMostNameBytes);
  if (knob.values.empty()) return fail("knob {}: has no values", name);
  if (knob.values.size() > kMostKnobValues)
    return fail("knob {}: has {} values, at most {} are tried", name, knob.values.size(),
                kMostKnobValues);

  std::set<std::string> const distinct(knob.values.begin(), knob.values.end());
  if (distinct.size() < knob.values.size()) return fail("knob {}: a value is there twice", name);
  if (!distinct.contains(knob.default_value))
    return fail("knob {}: its default \"{}\" is none of its values", name,
                base::printable(knob.default_value));

  for (std::string const& value : knob.values)
    if (value.size() > kMostKnobValueBytes || value.find('\0') != std::string::npos)
      return fail("knob {}: a value has more than {} bytes, or a zero byte", name,
                  kMostKnobValueBytes);
  for (auto const& [value, word] : knob.words)
    if (!distinct.contains(value))
      return fail("knob {}: words has \"{}\", which is none of its values", name,
                  base::printable(value));
  return {};
}

Expected<void> check_names(Space const& space, Expression const& expression, char const* what) {
  for (std::string const& name : expression.names()) {
    auto const is_named = [&](Knob const& knob) { return knob.name == name; };
    if (std::none_of(space.knobs.begin(), space.knobs.end(), is_named))
      return fail("{} \"{}\": {} is no knob", what, base::printable(expression.text()),
                  base::printable(name));
  }
  return {};
}

}  // namespace

std::string const& Knob::word_of(std::string const& value) const {
  auto const found = words.find(value);
  return found == words.end() ? value : found->second;
}

std::string range_value(KnobRange const& range, double value) {
  double const inside = std::clamp(value, range.low, range.high);
  if (range.is_whole) return fmt::format("{}", std::llround(inside));
  return fmt::format("{:.4g}", inside);
}

std::optional<int64_t> short_steps(Space const& space) {
  constexpr int64_t kShortPart = 4;
  if (!space.steps || *space.steps < 2 * kFewestShortSteps) return std::nullopt;
  return std::max(*space.steps / kShortPart, kFewestShortSteps);
}

std::vector<std::string> grid_of(KnobRange const& range) {
  std::vector<std::string> values;

  for (size_t i = 0; i < kRangePoints; ++i) {
    double const share = static_cast<double>(i) / static_cast<double>(kRangePoints - 1);
    double const value = range.is_log ? range.low * std::pow(range.high / range.low, share)
                                      : range.low + (range.high - range.low) * share;
    std::string text = range_value(range, value);
    if (std::find(values.begin(), values.end(), text) == values.end())
      values.push_back(std::move(text));
  }
  return values;
}

Expected<void> check_space(Space const& space) {
  if (space.knobs.empty()) return fail("there is no knob to turn, write [knob.NAME]");
  if (space.knobs.size() > kMostKnobs)
    return fail("there are {} knobs, at most {} are tuned at once", space.knobs.size(), kMostKnobs);

  std::set<std::string> names;
  for (Knob const& knob : space.knobs) {
    if (auto const good = check_knob(knob); !good) return good;
    if (!names.insert(knob.name).second) return fail("knob {}: is there twice", knob.name);
    if (space.steps && knob.name == "steps")
      return fail("knob steps: {{steps}} stands for steps of [budget] already, remove one of them");
  }

  for (Expression const& restriction : space.restrictions)
    if (auto const good = check_names(space, restriction, "restriction"); !good) return good;
  Settings const settings = default_settings(space);
  for (Expression const& restriction : space.restrictions) {
    auto const holds = restriction.holds(lookup_of(space, settings));
    if (!holds) return fail("restriction {}", holds.error().message);
    if (!*holds)
      return fail("restriction \"{}\" excludes the default settings",
                  base::printable(restriction.text()));
  }

  if (space.samples)
    if (auto const good = check_names(space, *space.samples, "samples"); !good) return good;
  auto const samples = samples_of(space, settings);
  return samples ? Expected<void>() : base::fail_with(samples);
}

Settings default_settings(Space const& space) {
  Settings settings;
  for (Knob const& knob : space.knobs) settings.push_back(knob.default_value);
  return settings;
}

Lookup lookup_of(Space const& space, Settings const& settings) {
  return [&space, settings](std::string const& name, std::optional<int64_t> index) {
    std::optional<Value> value;
    for (size_t k = 0; k < space.knobs.size() && !index; ++k)
      if (space.knobs[k].name == name) value = value_of(settings[k]);
    return value;
  };
}

bool is_allowed(Space const& space, Settings const& settings) {
  STEPSCOPE_CHECK(settings.size() == space.knobs.size());
  Lookup const lookup = lookup_of(space, settings);
  return std::all_of(space.restrictions.begin(), space.restrictions.end(),
                     [&](Expression const& restriction) {
                       auto const holds = restriction.holds(lookup);
                       return holds && *holds;
                     });
}

Expected<double> samples_of(Space const& space, Settings const& settings) {
  if (!space.samples) return 1.0;
  auto const value = space.samples->evaluate(lookup_of(space, settings));
  if (!value) return fail("samples {}", value.error().message);
  auto const* const number = std::get_if<double>(&*value);
  if (number == nullptr || *number <= 0)
    return fail("samples \"{}\" is no number above 0", base::printable(space.samples->text()));
  return *number;
}

Expected<double> parse_budget_time(std::string_view text) {
  constexpr double kYear = 366.0 * 86'400;
  double seconds = 1;
  std::string_view number = text;
  if (text.ends_with('m')) seconds = 60;
  if (text.ends_with('h')) seconds = 3600;
  if (seconds > 1 || text.ends_with('s')) number.remove_suffix(1);

  Value const value = value_of(number);
  auto const* const count = std::get_if<double>(&value);
  if (count == nullptr || *count <= 0 || *count * seconds > kYear)
    return fail("{} is no time, write for example 90s, 10m or 2h", base::printable(text));
  return *count * seconds;
}

std::string changed_text(Space const& space, Settings const& settings, Settings const& base) {
  std::string text;
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    if (settings[k] == base[k]) continue;
    std::string const value = settings[k].empty() ? "\"\"" : base::printable(settings[k]);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", space.knobs[k].name, value);
  }
  return text.empty() ? "the default" : text;
}

bool changes_numerics(Space const& space, Settings const& settings, Settings const& base) {
  for (size_t k = 0; k < space.knobs.size(); ++k)
    if (space.knobs[k].changes_numerics && settings[k] != base[k]) return true;
  return false;
}

}  // namespace stepscope::tune
