#include "trace/model/derive/shared_notes.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include <fmt/format.h>

namespace stepscope::model {
namespace {

/// Runs of ranks that are listed; the rest is counted.
constexpr size_t kMostRankRuns = 8;

/// The note without its numbers.
std::string shape_of(std::string_view note) {
  std::string shape;
  for (char const c : note) {
    bool const is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit) shape += c;
    if (is_digit && (shape.empty() || shape.back() != '#')) shape += '#';
  }
  return shape;
}

}  // namespace

std::vector<SharedNote> share_notes(std::vector<ProcessNotes> const& processes) {
  struct Seen {
    size_t place;
    size_t last_process;  ///< a process that says it twice counts once
    bool is_alike_alone = false;
  };
  std::vector<SharedNote> shared;
  std::unordered_map<std::string, Seen> by_shape;
  for (size_t p = 0; p < processes.size(); ++p) {
    for (std::string const& note : *processes[p].notes) {
      auto const [seen, is_new] = by_shape.try_emplace(shape_of(note), Seen{shared.size(), p});
      if (is_new) {
        shared.push_back({note, {processes[p].rank}, p, 1});
        continue;
      }
      SharedNote& same = shared[seen->second.place];
      if (note != same.text) seen->second.is_alike_alone = true;
      if (seen->second.last_process == p) continue;
      seen->second.last_process = p;
      same.ranks.push_back(processes[p].rank);
      ++same.processes;
    }
  }

  for (auto const& [shape, seen] : by_shape) {
    SharedNote& note = shared[seen.place];
    if (seen.is_alike_alone)
      note.text +=
          fmt::format(" (the numbers of rank {}; the others differ in numbers)", note.ranks[0]);
    std::sort(note.ranks.begin(), note.ranks.end());
    note.ranks.erase(std::unique(note.ranks.begin(), note.ranks.end()), note.ranks.end());
  }
  return shared;
}

std::string rank_list(std::vector<int32_t> const& ranks) {
  if (ranks.empty()) return {};
  std::string text;
  size_t runs = 0;
  for (size_t first = 0; first < ranks.size(); ++runs) {
    if (runs == kMostRankRuns) return fmt::format("{} and {} more", text, ranks.size() - first);
    size_t last = first;
    while (last + 1 < ranks.size() && int64_t{ranks[last + 1]} == int64_t{ranks[last]} + 1) ++last;
    text += runs == 0 ? (ranks.size() == 1 ? "rank " : "ranks ") : ", ";
    text += first == last
                ? fmt::format("{}", ranks[first])
                : fmt::format("{}{}{}", ranks[first], last == first + 1 ? ", " : "–", ranks[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace stepscope::model
