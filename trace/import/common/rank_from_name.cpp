#include "trace/import/common/rank_from_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string>

namespace stepscope::import {
namespace {

constexpr size_t kMostDigitsOfRanks = 7;

bool is_digit_of_rank(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

std::string lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

/// The run of digits that begins at `at`; empty where there is none.
std::string_view digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit_of_rank(text[end])) ++end;
  return text.substr(at, end - at);
}

std::optional<int32_t> number_of(std::string_view digits) {
  int32_t number = 0;
  if (digits.empty() || digits.size() > kMostDigitsOfRanks) return std::nullopt;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

constexpr std::string_view kSeparators = "-_=";
size_t after_separators(std::string_view name, size_t at,
                        std::string_view separators = kSeparators) {
  while (at < name.size() && separators.find(name[at]) != std::string_view::npos) ++at;
  return at;
}

/// "rank-3", "rank 3", "worker3". A rank within a node, or in a part of the job, is none of the
/// job: "local_rank_3", "tp_rank_3".
std::optional<int32_t> number_behind(std::string_view name, std::string_view word) {
  constexpr std::array<std::string_view, 7> kPartsOfRanks = {"local", "node", "tp", "cp",
                                                             "dp",    "pp",   "ep"};
  std::string_view const separators = word == "rank" ? "-_=. :#([" : kSeparators;

  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    std::string_view before = name.substr(0, at);
    while (!before.empty() && (before.back() == '-' || before.back() == '_'))
      before.remove_suffix(1);

    bool const is_of_part =
        std::any_of(kPartsOfRanks.begin(), kPartsOfRanks.end(), [&](std::string_view part) {
          size_t const begin = before.size() - std::min(before.size(), part.size());
          return before.ends_with(part) && (begin == 0 || !is_letter(before[begin - 1]));
        });
    if (is_of_part) continue;

    if (auto const number =
            number_of(digits_at(name, after_separators(name, at + word.size(), separators))))
      return number;
  }

  return std::nullopt;
}

/// The name that SGLang gives: "1769071195.66-TP-3.trace.json.gz", of one stage
/// "1769071195.66-TP-3-DECODE.trace.json.gz"; with no other part of the job.
std::optional<int32_t> only_tensor_part(std::string_view name) {
  constexpr std::string_view kPart = "-tp-";
  size_t const at = name.rfind(kPart);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view const digits = digits_at(name, at + kPart.size());
  std::string_view rest = name.substr(at + kPart.size() + digits.size());
  for (std::string_view const stage : {"-extend", "-prefill", "-decode"})
    if (rest.starts_with(stage)) rest.remove_prefix(stage.size());
  return rest.starts_with(".trace.json") ? number_of(digits) : std::nullopt;
}

/// A folder of one rank: "rank_3", "worker3", "mp_rank_03", "proc_3".
std::optional<int32_t> rank_of_folder(std::string_view name) {
  for (std::string_view const word :
       {"global_rank", "mp_rank", "rank", "worker", "process", "proc"}) {
    if (!name.starts_with(word)) continue;
    size_t const at = after_separators(name, word.size());
    std::string_view const digits = digits_at(name, at);
    if (at + digits.size() == name.size()) return number_of(digits);
  }
  return std::nullopt;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::string_view const whole_a = a, whole_b = b;

  while (!a.empty() && !b.empty()) {
    std::string_view x = digits_at(a, 0), y = digits_at(b, 0);
    if (x.empty() || y.empty()) {
      if (a.front() != b.front())
        return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }

    a.remove_prefix(x.size());
    b.remove_prefix(y.size());
    x.remove_prefix(std::min(x.find_first_not_of('0'), x.size()));
    y.remove_prefix(std::min(y.find_first_not_of('0'), y.size()));
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }

  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // "1" and "01"
}

std::optional<int32_t> rank_of_name(std::string_view path) {
  std::filesystem::path const whole(path);
  std::string const name = lower_case(whole.filename().string());
  for (std::string_view const word : {"rank", "worker"})
    if (auto const rank = number_behind(name, word)) return rank;
  if (auto const rank = only_tensor_part(name)) return rank;
  return rank_of_folder(lower_case(whole.parent_path().filename().string()));
}

std::optional<int32_t> number_at_end(std::string_view path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (std::string_view const extension :
       {".gz", ".zst", ".json", ".pkl", ".pickle", ".bin", ".dump", ".dat"})
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  size_t const last = name.find_last_not_of("0123456789");
  size_t const begin = last == std::string::npos ? 0 : last + 1;
  return number_of(std::string_view(name).substr(begin));
}

}  // namespace stepscope::import
