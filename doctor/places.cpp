#include "doctor/places.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include <unistd.h>

namespace stepscope::doctor {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t const first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

/// The prefix of the interpreter that `python3` starts: of /opt/env/bin/python3 it is /opt/env.
std::optional<std::string> python_prefix(Places const& places) {
  std::istringstream folders(variable(places, "PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (exists(places, folder + "/python3")) return fs::path(folder).parent_path().string();
  return {};
}

std::vector<std::string> python_prefixes(Places const& places) {
  std::vector<std::string> result;
  for (char const* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (auto const prefix = variable(places, name)) result.push_back(*prefix);
  if (auto const prefix = python_prefix(places)) result.push_back(*prefix);
  if (auto const home = variable(places, "HOME")) result.push_back(*home + "/.local");
  result.insert(result.end(), {"/usr/local", "/usr"});
  return result;
}

void add_library_folders(Places const& places, std::string const& packages,
                         std::set<std::string>& seen, std::vector<std::string>& result) {
  for (std::string const& package : list_folder(places, packages + "/nvidia")) {
    std::error_code error;
    fs::path const folder = fs::canonical(places.root + package + "/lib", error);
    if (!error && seen.insert(folder.string()).second) result.push_back(folder.string());
  }
}

}  // namespace

Places this_machine(std::string const& program_folder) {
  Places places;
  std::error_code error;
  places.run_folder = fs::current_path(error).string();
  places.tracer_folder = fs::weakly_canonical(program_folder + "/../lib", error).string();
  places.is_root = ::geteuid() == 0;

  for (char** one = environ; *one != nullptr; ++one) {
    std::string_view const text = *one;
    size_t const end = text.find('=');
    if (end != std::string_view::npos)
      places.environment.emplace(text.substr(0, end), text.substr(end + 1));
  }

  return places;
}

std::optional<std::string> variable(Places const& places, std::string const& name) {
  auto const found = places.environment.find(name);
  if (found == places.environment.end() || found->second.empty()) return {};
  return found->second;
}

std::optional<std::string> read_file(Places const& places, std::string const& path) {
  std::ifstream file(places.root + path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> read_entry(Places const& places, std::string const& path,
                                      std::string const& key) {
  std::istringstream lines(read_file(places, path).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    size_t const colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

bool exists(Places const& places, std::string const& path) {
  std::error_code error;
  return fs::exists(places.root + path, error);
}

std::vector<std::string> list_folder(Places const& places, std::string const& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(places.root + path, error))
    names.push_back(path + "/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> toolkit_library_folders(Places const& places) {
  std::vector<std::string> toolkits;
  for (char const* const name : {"CUDA_PATH", "CUDA_HOME"})
    if (auto const toolkit = variable(places, name)) toolkits.push_back(*toolkit);
  toolkits.emplace_back("/usr/local/cuda");

  std::vector<std::string> result;
  for (std::string const& toolkit : toolkits)
    for (char const* const folder : {"/lib64", "/targets/x86_64-linux/lib"})
      if (exists(places, toolkit + folder)) result.push_back(places.root + toolkit + folder);
  return result;
}

std::vector<std::string> python_library_folders(Places const& places) {
  std::set<std::string> seen;
  std::vector<std::string> result;

  for (std::string const& prefix : python_prefixes(places)) {
    for (std::string const& python : list_folder(places, prefix + "/lib")) {
      if (!fs::path(python).filename().string().starts_with("python3")) continue;
      for (char const* const packages : {"/site-packages", "/dist-packages"})
        add_library_folders(places, python + packages, seen, result);
    }
  }

  return result;
}

}  // namespace stepscope::doctor
