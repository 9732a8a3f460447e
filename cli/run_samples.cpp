#include "cli/run_samples.h"

#include "analyzer/analyze.h"
#include "cli/analyze_and_warn.h"
#include "cli/command.h"

namespace stepscope::cli {

base::Expected<std::vector<analyzer::RunMeasurements>> read_samples(
    std::vector<std::string> const& paths, std::string const& steps) {
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
