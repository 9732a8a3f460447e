#include "viewer/session/recent_runs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "trace/base/files/output_file.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

/// Longer lines are no paths.
constexpr size_t kLongestPath = 4096;

}  // namespace

std::string recent_runs_file() {
  char const* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/stepscope/recent";
  char const* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.local/state/stepscope/recent"
                                          : std::string();
}

std::vector<std::string> read_recent_runs(std::string const& file) {
  std::vector<std::string> runs;
  std::ifstream in(file);
  std::string line;
  while (runs.size() < kMaxRecentRuns && std::getline(in, line)) {
    std::error_code error;
    if (line.empty() || line.size() > kLongestPath || !fs::exists(line, error)) continue;
    if (std::find(runs.begin(), runs.end(), line) == runs.end()) runs.push_back(line);
  }
  return runs;
}

void add_recent_run(std::string const& file, std::string const& run) {
  if (file.empty()) return;
  std::error_code error;
  std::string const path = fs::absolute(run, error).lexically_normal().string();
  if (error || path.find('\n') != std::string::npos) return;
  std::vector<std::string> runs = read_recent_runs(file);
  std::erase(runs, path);
  runs.insert(runs.begin(), path);
  if (runs.size() > kMaxRecentRuns) runs.resize(kMaxRecentRuns);
  fs::create_directories(fs::path(file).parent_path(), error);
  // A second viewer may read it: it is replaced as a whole.
  std::string text;
  for (std::string const& each : runs) text += each + '\n';
  // A list that cannot be kept is no reason to say anything.
  [[maybe_unused]] auto const written = base::write_file_atomically(file, text);
}

}  // namespace stepscope::viewer
