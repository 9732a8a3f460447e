#include "trace/model/group_details.h"

#include <charconv>

#include <fmt/format.h>

namespace stepscope::model {
namespace {

constexpr std::string_view kCallsOf = "calls of ";
constexpr std::string_view kCalled = " called, ", kCompleted = " completed";

/// Takes a number from the front of the text.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_text(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

}  // namespace

std::string group_calls_name(std::string_view group) {
  return fmt::format("{}{}", kCallsOf, group);
}
std::string group_ranks_fact(std::string_view group) { return fmt::format("ranks of {}", group); }
std::string group_counts_fact(std::string_view group) {
  return fmt::format("last calls of {}", group);
}

std::string group_ranks_text(std::span<int32_t const> ranks) {
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && int64_t{ranks[last + 1]} == int64_t{ranks[last]} + 1) ++last;
    text += text.empty() ? "" : ", ";
    if (last > first + 1) {
      text += fmt::format("{}-{}", ranks[first], ranks[last]);
    } else {
      text += fmt::format("{}", ranks[first]);
      last = first;
    }
    first = last + 1;
  }
  return text;
}

std::vector<int32_t> parse_group_ranks(std::string_view text) {
  std::vector<int32_t> ranks;
  while (!text.empty()) {
    int32_t first = 0;
    if (!take_number(text, first) || first < 0) return {};
    int32_t last = first;
    if (take_text(text, "-") && (!take_number(text, last) || last < first)) return {};
    if (static_cast<size_t>(last - first) >= kMostGroupMembers - ranks.size()) return {};
    for (int32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
    if (!text.empty() && !take_text(text, ", ")) return {};
  }
  return ranks;
}

std::string group_counts_text(GroupCounts const& counts) {
  return fmt::format("{}{}{}{}", counts.called, kCalled, counts.completed, kCompleted);
}

std::string_view group_of_calls(std::string_view track_name) {
  return track_name.starts_with(kCallsOf) ? track_name.substr(kCallsOf.size()) : std::string_view();
}

std::string_view fact_of(TraceInfo const& info, std::string_view name) {
  for (auto const& [key, value] : info.facts)
    if (key == name) return value;
  return {};
}

std::optional<GroupCounts> group_counts_of(TraceInfo const& info, std::string_view group) {
  std::string const name = group_counts_fact(group);
  std::string_view text = fact_of(info, name);
  GroupCounts counts;
  bool const is_whole = take_number(text, counts.called) && take_text(text, kCalled) &&
                        take_number(text, counts.completed) && take_text(text, kCompleted) &&
                        text.empty();
  return is_whole ? std::optional(counts) : std::nullopt;
}

}  // namespace stepscope::model
