#include "trace/base/names/near_names.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepscope::base {
namespace {

/// Letters to insert, delete or replace (Levenshtein); names are short.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});

  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t const replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }

  return row.back();
}

/// 0 = the same. `duration` and `dur_ns` begin alike: that counts as near.
size_t strangeness(std::string_view name, std::string_view known) {
  constexpr size_t kStem = 3;  // letters that two names must share at their begin, units aside
  size_t const distance = edit_distance(name, known);
  std::string_view const stem = known.substr(0, known.find('_'));
  bool const related = (stem.size() >= kStem && name.starts_with(stem)) ||
                       (name.size() >= kStem && known.find(name) != std::string_view::npos);
  return related ? std::min(distance, size_t{2}) : distance;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::vector<std::string_view> near_names(std::string_view name,
                                         std::vector<std::string_view> const& known) {
  constexpr size_t kLongest = 64;  // no name of ours is longer
  constexpr size_t kShown = 3;
  if (name.size() > kLongest) return {};

  std::string const lower = lower_case(name);
  size_t const limit = std::max<size_t>(2, lower.size() / 3);
  std::set<std::pair<size_t, std::string_view>> found;
  for (std::string_view const candidate : known)
    if (size_t const distance = strangeness(lower, candidate); distance <= limit)
      found.emplace(distance, candidate);

  std::vector<std::string_view> names;
  for (auto const& [distance, candidate] : found)
    if (names.size() < kShown) names.push_back(candidate);
  return names;
}

std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& known) {
  std::vector<std::string_view> const names(known.begin(), known.end());
  auto const near = near_names(wrong, names);
  return near.empty() ? std::string() : fmt::format(" (did you mean {}?)", fmt::join(near, " or "));
}

std::string_view option_in(std::string_view message) {
  size_t const dash = message.find(" -");
  if (dash == std::string_view::npos) return {};
  std::string_view const option = message.substr(dash + 1);
  return option.substr(0, option.find_first_of(" =,"));
}

}  // namespace stepscope::base
