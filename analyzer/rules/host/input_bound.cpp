// input-bound: devices are idle because the host waits for training data. Cost: idle time with
// cause `input`, per step.
#include <algorithm>

#include "analyzer/rules/host/host_costs.h"
#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// PyTorch's loader without workers has an iterator of its own, which loads in the thread that
/// trains.
bool has_loader_in_thread(model::Run const& run, Finding const& finding) {
  constexpr std::string_view kInThread = "_SingleProcessDataLoaderIter";
  for (auto const& [role, name] : finding.subjects)
    if (role == "host_op" && name.find(kInThread) != std::string::npos) return true;
  // The host may have been longest in what the loader calls. A program with loaders of both kinds
  // does not tell which it waits for.
  auto const rank = static_cast<size_t>(finding.where->rank_index);
  if (rank >= run.ranks.size()) return false;
  model::StringTable const& names = run.ranks[rank].trace.strings();
  return names.find("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__").valid() &&
         !names.find("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__").valid();
}

}  // namespace

void find_input_bound(RuleInput const& input, std::vector<Finding>& findings) {
  size_t const first = findings.size();
  if (auto finding = find_idle_cost("input-bound", input, kWarningShare, IdleCause::kInput))
    findings.push_back(std::move(*finding));
  find_host_input(input, findings);

  for (size_t i = first; i < findings.size(); ++i)
    if (has_loader_in_thread(input.run, findings[i]))
      findings[i].subjects.emplace_back("loader", "training_thread");
}

}  // namespace stepscope::analyzer
