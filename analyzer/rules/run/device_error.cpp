// device-error: a CUDA call returned an error after which the process cannot use its GPU. The
// recorder writes the first such error as a fact of the trace. Cost: none; what follows is missing.
#include <string>
#include <string_view>

#include "analyzer/rules/rules.h"
#include "trace/model/group_details.h"

namespace stepscope::analyzer {

void find_device_error(RuleInput const& input, std::vector<Finding>& findings) {
  Finding finding;
  finding.rule = "device-error";
  finding.severity = Severity::kCritical;
  double processes = 0;

  for (model::RankTrace const& rank : input.run.ranks) {
    std::string_view const error = model::fact_of(rank.trace.info(), model::kFatalErrorFact);
    if (error.empty()) continue;
    if (processes == 0) finding.subjects.emplace_back("error", std::string(error));
    ++processes;
  }

  if (processes == 0) return;
  finding.metrics = {{"processes", processes}};
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
