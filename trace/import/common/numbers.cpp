#include "trace/import/common/numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace stepscope::import {
namespace {

/// Ranks have fewer digits than times.
constexpr size_t kMostRankDigits = 7;
constexpr int64_t kMostRanksOfNames = int64_t{1} << 24U;
/// Parts of a job in the order in which ranks count through them, the fastest first.
constexpr std::array<std::string_view, 5> kPartsOfPlaces = {"tp", "cp", "dp", "pp", "stage"};
constexpr std::array<std::string_view, 5> kRankWords = {"rank", "worker", "globalrank", "mprank",
                                                        "procrank"};
constexpr std::array<std::string_view, 8> kNodeWords = {"node",     "host",   "machine",  "server",
                                                        "noderank", "nodeid", "hostname", "pod"};
constexpr std::array<std::string_view, 17> kLocalWords = {
    "gpu", "device", "dev",  "cuda",      "npu",       "hpu",  "xpu", "mlu", "card",
    "nc",  "die",    "chip", "localrank", "localproc", "rocm", "hip", "tpu"};
constexpr std::array<std::string_view, 25> kCaptureWords = {
    "iteration", "iterations", "iter",    "it",        "step",    "steps", "globalstep",
    "epoch",     "window",     "run",     "cycle",     "batch",   "ts",    "time",
    "date",      "timestamp",  "capture", "session",   "attempt", "trial", "exp",
    "day",       "version",    "sample",  "experiment"};
constexpr std::array<std::string_view, 4> kTotalWords = {"of", "world", "worldsize", "nranks"};

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }

template <size_t Size>
bool is_one_of(std::string_view word, std::array<std::string_view, Size> const& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// `before`: the word before the number's own one; empty where there is none.
NameCounts meaning_of_word(std::string_view before, std::string_view word) {
  if (word == "rank" && (before == "local" || before == "intra")) return NameCounts::kLocal;
  if (word == "rank" && (before == "node" || before == "host")) return NameCounts::kNode;
  if (word == "rank" && is_one_of(before, kPartsOfPlaces)) return NameCounts::kPlace;
  if (is_one_of(word, kRankWords)) return NameCounts::kRank;
  if (is_one_of(word, kPartsOfPlaces)) return NameCounts::kPlace;
  if (is_one_of(word, kNodeWords)) return NameCounts::kNode;
  if (is_one_of(word, kLocalWords)) return NameCounts::kLocal;
  if (is_one_of(word, kCaptureWords)) return NameCounts::kCapture;
  return is_one_of(word, kTotalWords) ? NameCounts::kTotal : NameCounts::kOther;
}

size_t behind_separators(std::string_view text, size_t at) {
  while (at < text.size() && !is_small_letter(text[at]) && !is_digit_char(text[at]) &&
         text[at] != '/')
    ++at;
  return at;
}
/// The word that begins at or behind separators.
std::string_view word_behind(std::string_view text, size_t at) {
  at = behind_separators(text, at);
  size_t end = at;
  while (end < text.size() && is_small_letter(text[end])) ++end;
  return text.substr(at, end - at);
}
/// Whether the word `next`, a part of the text, stands before a number.
bool has_own_number(std::string_view text, std::string_view next) {
  size_t const at =
      behind_separators(text, static_cast<size_t>(next.data() - text.data()) + next.size());
  return at < text.size() && is_digit_char(text[at]);
}

/// The values of one number that all names have, one a name.
struct Field {
  NameCounts counts = NameCounts::kOther;
  std::string word;
  std::vector<int64_t> values;

  [[nodiscard]] bool differs() const {
    return std::any_of(values.begin(), values.end(),
                       [&](int64_t value) { return value != values.front(); });
  }
  [[nodiscard]] bool is_distinct() const {
    return std::set(values.begin(), values.end()).size() == values.size();
  }
  [[nodiscard]] int64_t least() const { return *std::min_element(values.begin(), values.end()); }
  [[nodiscard]] int64_t most() const { return *std::max_element(values.begin(), values.end()); }
};

/// The numbers that all of the names have, in the order of the first.
std::vector<Field> common_fields(std::vector<std::string> const& names) {
  using Key = std::pair<std::string, size_t>;  // the word, and which of those behind one
  std::vector<std::pair<Key, Field>> fields;

  for (size_t n = 0; n < names.size(); ++n) {
    std::map<std::string, size_t> seen;

    for (NameNumber const& number : numbers_in(names[n])) {
      Key const key{number.word, seen[number.word]++};
      auto found = std::find_if(fields.begin(), fields.end(),
                                [&](auto const& field) { return field.first == key; });
      if (found == fields.end()) {
        if (n > 0) continue;
        found = fields.insert(fields.end(), {key, Field{number.counts, number.word, {}}});
      }
      // One without it has a number less from now on.
      if (found->second.values.size() == n)
        found->second.values.push_back(static_cast<int64_t>(number.value));
    }
  }

  std::vector<Field> common;
  for (auto& [key, field] : fields)
    if (field.values.size() == names.size()) common.push_back(std::move(field));
  return common;
}

/// A name without what differs between windows of one process.
std::string without_windows(std::string const& name) {
  std::string text;
  size_t at = 0;

  for (NameNumber const& number : numbers_in(name)) {
    bool const is_window =
        number.counts == NameCounts::kTime || number.counts == NameCounts::kCapture;
    text += name.substr(at, number.begin - at);
    text += is_window ? "#" : name.substr(number.begin, number.end - number.begin);
    at = number.end;
  }

  return text + name.substr(at);
}

class RanksOfNames {
 public:
  RanksOfNames(std::vector<std::string> const& names, int32_t world_size)
      : count_(names.size()), world_size_(world_size), fields_(common_fields(names)) {}

  /// Nothing: the names do not tell.
  NamedRanks find() {
    for (Field const& field : fields_)
      if (field.counts == NameCounts::kRank && field.differs() && field.is_distinct())
        return stated(field.values);
    if (auto ranks = by_places(); !ranks.empty()) return stated(ranks);
    Field const* const local = distinct_field(NameCounts::kLocal);
    if (local != nullptr && !is_within_nodes(*local)) return guessed(local->values);
    if (auto ranks = by_two_numbers(true); !ranks.empty()) return stated(ranks);

    auto const rank = std::find_if(fields_.begin(), fields_.end(),
                                   [](Field const& f) { return f.counts == NameCounts::kRank; });
    if (rank != fields_.end()) return stated(rank->values);
    for (NameCounts const counts : {NameCounts::kOther, NameCounts::kNode})
      if (Field const* const field = distinct_field(counts)) return guessed(field->values);
    return guessed(by_two_numbers(false));
  }

 private:
  static std::vector<int32_t> ranks_in(std::vector<int64_t> const& values) {
    if (std::any_of(values.begin(), values.end(),
                    [](int64_t value) { return value >= kMostRanksOfNames; }))
      return {};
    return {values.begin(), values.end()};
  }
  static NamedRanks stated(std::vector<int64_t> const& values) { return {ranks_in(values), true}; }
  static NamedRanks guessed(std::vector<int64_t> const& values) {
    return {ranks_in(values), false};
  }

  /// Numbers from 0, or those of a job that is known to be as large; process ids and ports are
  /// neither.
  [[nodiscard]] bool is_plausible(Field const& field) const {
    if (world_size_ > 1 && field.most() < world_size_) return true;
    return field.least() == 0 && field.most() < 64 + 16 * static_cast<int64_t>(count_);
  }
  /// The last one of a kind: an index stands behind what it counts in.
  [[nodiscard]] Field const* distinct_field(NameCounts counts) const {
    for (size_t f = fields_.size(); f-- > 0;)
      if (Field const& field = fields_[f];
          field.counts == counts && field.differs() && field.is_distinct() && is_plausible(field))
        return &field;
    return nullptr;
  }

  /// A number that is each node's own by its word, in names of several nodes.
  [[nodiscard]] bool is_within_nodes(Field const& local) const {
    bool const has_nodes = std::any_of(fields_.begin(), fields_.end(), [](Field const& field) {
      return field.counts == NameCounts::kNode && field.differs();
    });
    return has_nodes && local.word.starts_with("local");
  }

  /// The numbers of tensor parallelism alone where no two names share one, else all parts, the
  /// fastest first.
  [[nodiscard]] std::vector<int64_t> by_places() const {
    std::vector<Field const*> parts;
    for (std::string_view const part : kPartsOfPlaces)
      for (Field const& field : fields_)
        if (field.counts == NameCounts::kPlace &&
            (field.word == part || field.word == std::string(part) + " rank"))
          parts.push_back(&field);
    auto const differs = [](Field const* field) { return field->differs(); };
    if (std::none_of(parts.begin(), parts.end(), differs)) return {};
    if (parts.front()->word.starts_with("tp") && parts.front()->is_distinct())
      return parts.front()->values;

    Field ranks{NameCounts::kPlace, {}, std::vector<int64_t>(count_, 0)};
    int64_t stride = 1;
    for (Field const* const part : parts) {
      for (size_t n = 0; n < count_; ++n) ranks.values[n] += stride * part->values[n];
      stride *= part->most() + 1;
      if (stride > kMostRanksOfNames) return {};
    }
    return ranks.is_distinct() ? ranks.values : std::vector<int64_t>();
  }

  /// What counts within a host, and what counts hosts: each host has as many ranks. `has_words`:
  /// the inner one is known to be a rank or a device.
  [[nodiscard]] std::vector<int64_t> by_two_numbers(bool has_words) const {
    auto const is_inner = [&](Field const& field) {
      bool const has_word = field.counts == NameCounts::kRank || field.counts == NameCounts::kLocal;
      return field.differs() &&
             (has_word || (!has_words && field.counts == NameCounts::kOther && field.least() == 0));
    };
    // Hosts may have any names with numbers, before a device; before others such a number may be
    // that of a capture.
    auto const is_outer = [](Field const& field, Field const& inner) {
      bool const has_word = field.counts == NameCounts::kNode || field.counts == NameCounts::kPlace;
      return field.differs() && (has_word || (field.counts == NameCounts::kOther &&
                                              inner.counts == NameCounts::kLocal));
    };

    for (size_t inner = fields_.size(); inner-- > 0;) {
      if (!is_inner(fields_[inner])) continue;
      for (size_t outer = 0; outer < fields_.size(); ++outer) {
        if (outer == inner || !is_outer(fields_[outer], fields_[inner])) continue;
        if (auto ranks = nested(fields_[outer], fields_[inner]); !ranks.empty()) return ranks;
      }
    }
    return {};
  }
  [[nodiscard]] std::vector<int64_t> nested(Field const& outer, Field const& inner) const {
    std::set<int64_t> const hosts(outer.values.begin(), outer.values.end());
    int64_t per_host = inner.most() + 1;
    auto const count = static_cast<int64_t>(hosts.size());
    if (world_size_ > 1 && world_size_ % count == 0)
      per_host = std::max(per_host, world_size_ / count);

    // Hosts count from 0, or are called as the data center calls them.
    bool const are_places = *hosts.begin() == 0 && *hosts.rbegin() < 4 * count;

    Field ranks{NameCounts::kOther, {}, {}};
    for (size_t n = 0; n < count_; ++n) {
      int64_t const host = outer.values[n];
      int64_t const place = are_places ? host : std::distance(hosts.begin(), hosts.find(host));
      if (place > kMostRanksOfNames / per_host) return {};
      ranks.values.push_back(place * per_host + inner.values[n]);
    }

    return ranks.is_distinct() ? ranks.values : std::vector<int64_t>();
  }

  size_t count_;
  int32_t world_size_;
  std::vector<Field> fields_;
};

/// Without the folders that all are in.
std::vector<std::string> names_within_run(std::span<std::string const> paths) {
  std::vector<std::string> names;
  size_t common = 0;

  for (std::string const& path : paths) {
    names.push_back(
        name_without_extensions(std::filesystem::path(path).lexically_normal().string()));
    std::string const &first = names.front(), &name = names.back();
    auto const differing =
        std::mismatch(first.begin(), first.end(), name.begin(), name.end()).first;
    size_t const same = static_cast<size_t>(differing - first.begin());
    common = names.size() == 1 ? first.size() : std::min(common, same);
  }

  size_t const slash = names.empty() ? std::string::npos : names.front().rfind('/', common);
  if (slash != std::string::npos)
    for (std::string& name : names) name.erase(0, std::min(name.size(), slash + 1));
  return names;
}

}  // namespace

std::string name_without_extensions(std::string_view path) {
  constexpr std::array<std::string_view, 16> kExtensions = {
      ".gz",  ".zst",    ".json",     ".jsonl",          ".trace", ".pt",
      ".pb",  ".xplane", ".pftrace",  ".perfetto-trace", ".pkl",   ".pickle",
      ".bin", ".sqlite", ".nsys-rep", ".stepscope"};

  std::string name(path);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });

  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::string_view const extension : kExtensions) {
      if (!name.ends_with(extension)) continue;
      name.resize(name.size() - extension.size());
      has_changed = true;
    }
  }
  return name;
}

std::vector<NameNumber> numbers_in(std::string_view text) {
  std::vector<NameNumber> numbers;
  std::string_view before, word;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    if (is_small_letter(text[at])) {
      while (end < text.size() && is_small_letter(text[end])) ++end;
      before = std::exchange(word, text.substr(at, end - at));
    } else if (is_digit_char(text[at])) {
      while (end < text.size() && is_digit_char(text[end])) ++end;
      NameNumber number{std::string(word), meaning_of_word(before, word), 0, at, end};
      std::string_view const next = word_behind(text, end);
      bool const is_fraction = !numbers.empty() && numbers.back().counts == NameCounts::kTime &&
                               numbers.back().end + 1 == at && text[at - 1] == '.';

      auto const [last, error] = std::from_chars(text.data() + at, text.data() + end, number.value);
      if (word == "rank" && !before.empty()) number.word = std::string(before) + " rank";

      bool const is_padded = text[at] == '0' && end - at > 1;
      if (word == "r" && is_padded) number.counts = NameCounts::kRank;
      if (next == "of" && number.counts == NameCounts::kOther) number.counts = NameCounts::kRank;
      if (word.empty() && next == "rank" && !has_own_number(text, next))
        number = {"rank", NameCounts::kRank, number.value, at, end};

      if (error != std::errc() || end - at > kMostRankDigits || is_fraction)
        number.counts = NameCounts::kTime;

      numbers.push_back(std::move(number));
      before = word = {};
    } else {
      ++end;
    }
    at = end;
  }

  return numbers;
}

NamedRanks ranks_of_names(std::span<std::string const> paths, int32_t world_size) {
  bool const are_one_each = std::set(paths.begin(), paths.end()).size() == paths.size();
  if (paths.size() < 2 || !are_one_each) return {};
  std::vector<std::string> const names = names_within_run(paths);
  std::map<std::string, size_t> number_of;  // of names without what differs between windows
  std::vector<std::string> unique;
  for (std::string const& name : names)
    if (number_of.try_emplace(without_windows(name), unique.size()).second) unique.push_back(name);

  NamedRanks const of_unique = RanksOfNames(unique, world_size).find();
  if (of_unique.ranks.empty() || (unique.size() == 1 && !of_unique.is_known)) return {};
  NamedRanks found{{}, of_unique.is_known};
  for (std::string const& name : names)
    found.ranks.push_back(of_unique.ranks[number_of.at(without_windows(name))]);
  return found;
}

FoldersAre meaning_of_folders(std::span<std::string const> names) {
  std::vector<std::string> low;
  std::set<std::string> texts;
  for (std::string const& name : names) {
    low.push_back(name_without_extensions(name));
    std::string bare = low.back();
    std::erase_if(bare, is_digit_char);
    texts.insert(std::move(bare));
  }
  auto const is_of_ascend = [](std::string const& name) { return name.ends_with("_ascend_pt"); };
  if (names.size() < 2) return FoldersAre::kOthers;

  std::vector<Field> fields = common_fields(low);
  std::erase_if(fields, [](Field const& field) { return !field.differs(); });
  auto const has = [&](auto const&... counts) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](Field const& field) { return ((field.counts == counts) || ...); });
  };
  bool const have_ranks = std::any_of(fields.begin(), fields.end(), [](Field const& field) {
    return field.counts == NameCounts::kRank && field.is_distinct();
  });
  if (have_ranks) return FoldersAre::kRanks;
  if (texts.size() > 1) return FoldersAre::kOthers;
  if (has(NameCounts::kCapture)) return FoldersAre::kCaptures;
  if (has(NameCounts::kRank, NameCounts::kLocal, NameCounts::kNode, NameCounts::kPlace))
    return FoldersAre::kRanks;
  // torch_npu: HOST_PID_TIME_ascend_pt, each process has a folder.
  if (std::all_of(low.begin(), low.end(), is_of_ascend) && has(NameCounts::kOther))
    return FoldersAre::kRanks;
  if (fields.size() != 1 || fields.front().counts != NameCounts::kOther)
    return FoldersAre::kCaptures;

  // Steps are most often multiples of ten.
  int64_t step = 0;
  for (int64_t const value : fields.front().values) step = std::gcd(step, value);
  bool const are_places =
      fields.front().least() == 0 && fields.front().most() < 4 * std::ssize(names) && step == 1;
  return are_places ? FoldersAre::kMaybeRanks : FoldersAre::kCaptures;
}

}  // namespace stepscope::import
