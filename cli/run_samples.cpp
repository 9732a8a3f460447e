#include "cli/run_samples.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "analyzer/analyze.h"
#include "cli/analyze_and_warn.h"
#include "cli/command.h"

namespace stepscope::cli {

base::Expected<void> refuse_repeated(std::vector<std::string> const& paths) {
  std::set<std::filesystem::path> seen;
  for (std::string const& path : paths) {
    std::error_code unknown;  // the reader says why a path leads nowhere
    auto const place = std::filesystem::weakly_canonical(path, unknown);
    bool const is_there = std::filesystem::exists(place, unknown);
    if (is_there && !seen.insert(place).second)
      return base::fail(
          "{}: is named twice, which says nothing about how much runs differ: name each recording "
          "once",
          path);
  }

  return {};
}

base::Expected<std::vector<analyzer::RunMeasurements>> read_samples(
    std::vector<std::string> const& paths, std::string const& steps) {
  if (auto const good = refuse_repeated(paths); !good) return base::fail_with(good);

  analyzer::AnalyzeOptions wanted;
  if (!steps.empty()) {
    auto const range = parse_steps(steps);
    if (!range) return base::fail_with(range);
    wanted.steps = *range;
  }

  std::vector<analyzer::RunMeasurements> samples;
  for (std::string const& path : paths) {
    auto const analyzed = analyze_and_warn({path}, wanted);
    if (!analyzed) return base::fail_with(analyzed);
    samples.push_back(analyzer::sample_run(analyzed->run, analyzed->analysis));
    samples.back().name = path;  // runs of two sides often have one name
  }

  return samples;
}

}  // namespace stepscope::cli
