#include "gate/store.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

namespace fs = std::filesystem;
using base::Expected;

/// Bytes of a file in which `kind` must stand, even if another program reformatted the file.
constexpr size_t kSniffedBytes = 4096;
/// Entries of a folder that are looked at.
constexpr size_t kMostEntries = 10'000;

std::string_view text_of(base::MappedFile const& file) {
  return {reinterpret_cast<char const*>(file.bytes().data()), file.bytes().size()};
}

PathKind kind_of_file(std::string const& path) {
  auto const file = base::MappedFile::open(path);
  if (!file) return PathKind::kRun;
  std::string_view const begin = text_of(*file).substr(0, kSniffedBytes);
  if (is_baseline(begin)) return PathKind::kBaseline;
  return is_history(begin) ? PathKind::kHistory : PathKind::kRun;
}

std::vector<fs::path> files_in(std::string const& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && files.size() < kMostEntries; entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored)) files.push_back(entry->path());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_folder(std::string const& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

/// Bytes that names may not have become '-'; none at the begin that hides a file or looks like an
/// option.
std::string safe_name(std::string_view text) {
  std::string name;
  for (char const byte : text.substr(0, kMostNameBytes)) name += is_name_byte(byte) ? byte : '-';
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  return name;
}

std::vector<std::string_view> words_of(std::string_view command) {
  std::vector<std::string_view> words;
  constexpr size_t kMostWords = 64;

  while (words.size() < kMostWords) {
    size_t const first = command.find_first_not_of(' ');
    if (first == std::string_view::npos) break;
    command.remove_prefix(first);

    words.push_back(command.substr(0, command.find(' ')));
    command.remove_prefix(words.back().size());
  }

  return words;
}

std::string_view last_of_path(std::string_view path) {
  size_t const slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// "stepscope run cifar10 …" → cifar10, "torchrun … train.py …" → train, "./train …" → train.
std::string_view name_in(std::string_view command) {
  std::vector<std::string_view> const words = words_of(command);
  if (words.empty()) return {};
  bool const is_ours = words.size() > 2 && last_of_path(words[0]) == "stepscope" &&
                       (words[1] == "run" || words[1] == "profile");
  if (is_ours) return words[2];
  for (std::string_view const word : words)
    if (word.ends_with(".py")) return last_of_path(word.substr(0, word.size() - 3));
  return last_of_path(words[0]);
}

std::string names_in(std::string const& folder) {
  std::string names;
  for (fs::path const& file : files_in(folder))
    if (file.extension() == ".json") names += (names.empty() ? "" : ", ") + file.stem().string();
  return names.empty() ? "it has none" : "it has " + base::valid_utf8(names, 1000);
}

Expected<void> make_folder_of(std::string const& file) {
  fs::path const folder = fs::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    return base::fail("{}: cannot be made a folder ({}), choose another place", folder.string(),
                      error.message());
  return {};
}

}  // namespace

PathKind kind_of(std::string const& path) {
  if (!is_folder(path)) return kind_of_file(path);
  std::vector<fs::path> const files = files_in(path);

  auto const is_ours = [](fs::path const& file) {
    return kind_of_file(file.string()) != PathKind::kRun;
  };
  auto const is_trace = [](fs::path const& file) { return file.extension() == ".stepscope"; };
  if (std::any_of(files.begin(), files.end(), is_trace)) return PathKind::kRun;

  std::error_code error;
  bool const is_baselines =
      fs::is_empty(path, error) || std::any_of(files.begin(), files.end(), is_ours);
  return is_baselines ? PathKind::kFolder : PathKind::kRun;
}

std::string workload_name(analyzer::RunMeasurements const& run) {
  std::string name = safe_name(name_in(run.command));
  if (name.empty()) name = safe_name(run.name);
  return name.empty() ? "run" : name;
}

Expected<void> check_name(std::string_view name) {
  if (!name.empty() && safe_name(name) == name) return {};
  return base::fail(
      "--name {}: write letters, digits, '.', '_' and '-', at most {}, no '.' or '-' first",
      base::printable(base::valid_utf8(name, kMostNameBytes)), kMostNameBytes);
}

std::string baseline_file(std::string const& path, std::string_view name) {
  return kind_of(path) == PathKind::kFolder
             ? (fs::path(path) / fmt::format("{}.json", name)).string()
             : path;
}

Expected<Baseline> read_baseline(std::string const& path, std::string_view name) {
  if (!is_folder(path)) {
    auto const file = base::MappedFile::open(path);
    if (!file) return base::fail_with(file);
    return parse_baseline(text_of(*file), path);
  }

  std::string const inside = (fs::path(path) / fmt::format("{}.json", name)).string();
  auto const file = base::MappedFile::open(inside);
  if (file) return parse_baseline(text_of(*file), inside);
  return base::fail(
      "{}: has no baseline of {} ({}), make it with --update-baseline {}, or choose with --name",
      path, name, names_in(path), path);
}

Expected<History> read_history(std::string const& path) {
  auto const file = base::MappedFile::open(path);
  if (!file) return base::fail_with(file);
  return parse_history(text_of(*file), path);
}

std::string baseline_folder(std::string const& path) {
  bool const is_file = path.ends_with(".json") && !is_folder(path);
  return is_file ? fs::path(path).parent_path().string() : path;
}

Expected<std::string> baseline_target(std::string const& path, std::string_view name) {
  bool const is_file = baseline_folder(path) != path;
  std::string const target =
      is_file ? path : (fs::path(path) / fmt::format("{}.json", name)).string();
  if (auto const made = make_folder_of(target); !made) return base::fail_with(made);
  std::error_code error;
  if (fs::exists(target, error) && kind_of(target) != PathKind::kBaseline)
    return base::fail("{}: is no baseline and is not replaced, choose another place", target);
  return target;
}

Expected<History> history_to_append(std::string const& path, std::string_view name) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (auto const made = make_folder_of(path); !made) return base::fail_with(made);
    return History{std::string(name), {}};
  }

  if (kind_of(path) != PathKind::kHistory)
    return base::fail("{}: is no history and is not replaced, choose another file", path);
  auto history = read_history(path);
  if (history && history->name != name)
    return base::fail("{}: is the history of {}, not of {}: choose another file, or --name {}",
                      path, base::printable(history->name), name, base::printable(history->name));
  return history;
}

}  // namespace stepscope::gate
