// Ground truth: makes a run of every fault of `stepscope synth`, analyzes it and prints whether the
// first finding names the fault and states its cost. Exit status 1 when it does not do so often
// enough.
//   ground_truth [--list] [--only TEXT] [--keep FOLDER] [--workloads --stepscope PROGRAM]
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/ground_truth/scenarios.h"

namespace {

using namespace stepscope::ground_truth;

struct Options {
  bool list = false, workloads = false;
  std::string only, stepscope, keep;
};

/// A folder that is gone at the end.
class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "stepscope-ground-truth-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(WorkFolder const&) = delete;
  WorkFolder& operator=(WorkFolder const&) = delete;
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
};

/// Whether the command line is one that is understood.
bool parse(int count, char** arguments, Options& options) {
  std::map<std::string, std::string*> const with_value = {
      {"--only", &options.only}, {"--stepscope", &options.stepscope}, {"--keep", &options.keep}};

  for (int i = 1; i < count; ++i) {
    std::string const argument = arguments[i];
    auto const value = with_value.find(argument);
    if (argument == "--list") {
      options.list = true;
    } else if (argument == "--workloads") {
      options.workloads = true;
    } else if (value != with_value.end() && i + 1 < count) {
      *value->second = arguments[++i];
    } else {
      return false;
    }
  }
  return options.stepscope.empty() != options.workloads;
}

int run(Options const& options) {
  WorkFolder const work;
  std::string const base = options.keep.empty() ? work.path() : options.keep;
  std::vector<Outcome> outcomes;

  for (Scenario const& scenario : scenarios()) {
    std::string const name = scenario.name();
    if (name.find(options.only) == std::string::npos) continue;
    if (options.list) {
      fmt::print("{}\n", name);
      continue;
    }

    std::string const folder = fmt::format("{}/{}", base, name);
    std::filesystem::create_directories(folder);
    outcomes.push_back(play(scenario, folder));
    if (options.keep.empty()) std::filesystem::remove_all(folder);
  }

  if (options.list) return 0;
  if (options.workloads)
    for (Outcome& outcome : play_workloads(options.stepscope, base, options.only))
      outcomes.push_back(std::move(outcome));
  return print_table(outcomes) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) {
    fmt::print(stderr,
               "usage: ground_truth [--list] [--only TEXT] [--keep FOLDER] [--workloads "
               "--stepscope PROGRAM]\n");
    return 2;
  }
  return run(options);
}
