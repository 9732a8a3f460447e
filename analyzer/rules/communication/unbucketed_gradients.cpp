// unbucketed-gradients: a step has so many short all-reduces that gradients are summed one by one.
// For recordings that do not tell sizes: where they do, small-buckets knows from them what merging
// would save. Inference sums no gradients. No cost, for how long the merged messages would take is
// not known; it is at most what the short ones take.
#include <algorithm>

#include "analyzer/rules/program_kind.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Buckets of 25 MB make a few dozen all-reduces a step even of the largest models on one device.
constexpr double kFewestReductions = 50;
/// An all-reduce takes 10 to 30 µs within a machine and some 50 between machines before its size
/// matters.
constexpr int64_t kShortReductionNs = 100'000;
/// Communication that is hidden costs nothing.
constexpr double kLeastExposed = kWarningShare;
/// As for small-buckets: a bucket size is changed easily. Below, the count is a note.
constexpr double kLeastShortShare = 0.03;

struct Reductions {
  std::vector<int64_t> transfers;
  int64_t short_ns = 0;
  std::vector<Finding::Evidence> evidence;
};

/// The device's measured all-reduces of unknown size.
Reductions reductions_of(RuleInput const& input, MeasuredDevice const& device) {
  Reductions reductions;
  for (CollectiveStats const& collective : input.facts.collectives) {
    if (collective.op != model::CollectiveOp::kAllReduce || collective.bytes > 0) continue;

    for (auto const& own : collective.participants) {
      if (own.ref != device.ref || !device.is_measured(own.when.begin)) continue;

      int64_t const transfer = own.when.length() - own.wait_ns;
      reductions.transfers.push_back(transfer);
      if (transfer <= kShortReductionNs) reductions.short_ns += transfer;
      reductions.evidence.push_back({device.ref, own.when, own.track.value});
    }
  }

  return reductions;
}

std::optional<Finding> judge_reductions(RuleInput const& input, MeasuredDevice const& device) {
  auto const exposed = static_cast<double>(device.exposed_comm_ns - device.exposed_late_ns);
  if (!device.has_steps || exposed < kLeastExposed * static_cast<double>(device.total_ns))
    return std::nullopt;
  Reductions reductions = reductions_of(input, device);
  double const per_step = device.per_step(static_cast<int64_t>(reductions.transfers.size()));
  if (per_step < kFewestReductions) return std::nullopt;
  auto const middle =
      reductions.transfers.begin() + static_cast<ptrdiff_t>(reductions.transfers.size() / 2);
  std::nth_element(reductions.transfers.begin(), middle, reductions.transfers.end());
  if (*middle > kShortReductionNs) return std::nullopt;

  Finding finding;
  finding.rule = "unbucketed-gradients";
  finding.where = device.ref;
  double const at_most = std::min(device.per_step(reductions.short_ns),
                                  exposed / static_cast<double>(device.periods.size()));
  bool const is_worth_it = at_most >= kLeastShortShare * device.step_ns();
  finding.severity = is_worth_it ? Severity::kWarning : Severity::kInfo;
  finding.metrics = {{"collectives_per_step", per_step},
                     {"median_ns", static_cast<double>(*middle)},
                     {"at_most_ns_per_step", at_most}};
  finding.evidence = std::move(reductions.evidence);
  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

void find_unbucketed_gradients(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<Finding> most;
  auto const bound = [](Finding const& finding) { return finding.metrics.back().second; };
  for (MeasuredDevice const& device : input.measured) {
    auto finding = judge_reductions(input, device);
    if (finding && (!most || bound(*finding) > bound(*most))) most = std::move(finding);
  }
  if (most && !is_inference(input.run, input.facts)) findings.push_back(std::move(*most));
}

}  // namespace stepscope::analyzer
