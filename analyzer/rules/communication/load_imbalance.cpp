// load-imbalance: devices wait for each other because now this one has more to compute and now that
// one. Cost: the exposed waiting that compute causes (metrics/communication/wait_attribution.h),
// per step, as a mean over the devices. With work shared evenly, each synchronizing collective
// would come after the mean compute instead of the longest, and the devices would gain the
// difference.
#include <algorithm>

#include "analyzer/rules/host/host_costs.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Equal work on equal devices varies by 1 to 2 %, and the longest of some devices is a little
/// longer still. Below this share of a step, uneven work cannot be distinguished from chance.
constexpr double kLeastImbalance = 0.05;

/// Another rule tells where this waiting comes from.
bool is_explained(std::vector<Finding> const& findings) {
  return std::any_of(findings.begin(), findings.end(), [](Finding const& finding) {
    // The stages of a pipeline have different work by design; threads that share cores take them
    // from each other.
    return finding.rule == "straggler" || finding.rule == "pipeline-bubble" ||
           finding.rule == "unequal-workers" || finding.rule == "oversubscribed-host";
  });
}

/// Compute of the devices in the steps that all of them have measured.
struct StepLoads {
  double sum = 0;      ///< Σ over devices and steps
  double longest = 0;  ///< Σ over steps of the most
  int64_t steps = 0;
  [[nodiscard]] double balance(size_t devices) const {
    return longest > 0 ? sum / (static_cast<double>(devices) * longest) : 1;
  }
};

StepLoads step_loads(RuleInput const& input) {
  std::vector<std::pair<int64_t, int64_t>> loads;  // step, compute

  auto device = input.measured.begin();
  for (StepStats const& step : input.facts.steps) {
    while (device != input.measured.end() && device->ref < step.ref) ++device;
    if (device == input.measured.end()) break;
    if (device->ref == step.ref && !step.warmup && device->is_measured(step.window.begin))
      loads.emplace_back(step.step, step.time.compute_ns);
  }
  std::sort(loads.begin(), loads.end());

  StepLoads result;
  for (size_t first = 0, last = 0; first < loads.size(); first = last) {
    double sum = 0;
    for (; last < loads.size() && loads[last].first == loads[first].first; ++last)
      sum += static_cast<double>(loads[last].second);
    if (last - first != input.measured.size()) continue;
    result.sum += sum;
    result.longest += static_cast<double>(loads[last - 1].second);
    ++result.steps;
  }
  return result;
}

/// Whether most of the waiting is for a send or a receive: as between the stages of a pipeline that
/// wait for each other by design.
bool waits_for_messages(RuleInput const& input) {
  double messages = 0, all = 0;
  for (CollectiveStats const& collective : input.facts.collectives)
    for (auto const& participant : collective.participants) {
      auto const waited = static_cast<double>(participant.exposed_late_ns);
      all += waited;
      if (model::is_point_to_point(collective.op)) messages += waited;
    }
  return 2 * messages > all;
}

/// The longest waits that nothing hides.
void add_waits(Finding& finding, RuleInput const& input) {
  constexpr size_t kHeld = 1024;  // at once
  int64_t shortest = 0;           // shorter ones do not come in any more

  for (CollectiveStats const& collective : input.facts.collectives)
    for (auto const& own : collective.participants) {
      if (own.exposed_late_ns == 0 || own.wait_ns < shortest) continue;

      auto const device =
          std::lower_bound(input.measured.begin(), input.measured.end(), own.ref,
                           [](MeasuredDevice const& d, DeviceRef ref) { return d.ref < ref; });
      if (device == input.measured.end() || device->ref != own.ref ||
          !device->is_measured(own.when.begin))
        continue;

      finding.evidence.push_back(
          {own.ref, {own.when.begin, own.when.begin + own.wait_ns}, std::nullopt});
      if (finding.evidence.size() < kHeld) continue;
      keep_longest(finding.evidence);
      shortest = finding.evidence.back().when.length();
    }

  keep_longest(finding.evidence);
}

/// What compute causes of the exposed waiting, and of that the device that causes most.
struct WaitsByCompute {
  double share = 0, share_of_worst = 0;
  explicit WaitsByCompute(std::vector<WaitStats> const& waits) {
    double all = 0, by_compute = 0, of_worst = 0;
    for (WaitStats const& row : waits) {
      auto const exposed = static_cast<double>(row.exposed_ns);
      all += exposed;
      if (row.cause != WaitCause::kCompute) continue;
      by_compute += exposed;
      of_worst = std::max(of_worst, exposed);  // a row a device
    }
    if (by_compute > 0) share = by_compute / all, share_of_worst = of_worst / by_compute;
  }
};

}  // namespace

void find_load_imbalance(RuleInput const& input, std::vector<Finding>& findings) {
  find_busy_rank(input, findings);
  if (input.measured.size() < 2 || is_explained(findings)) return;
  WaitsByCompute const by_compute(input.facts.waits);

  double total = 0, waiting = 0;
  for (MeasuredDevice const& device : input.measured) {
    total += static_cast<double>(device.total_ns);
    waiting += static_cast<double>(device.exposed_late_ns);
  }
  waiting *= by_compute.share;

  if (total <= 0 || waiting < kLeastImbalance * total || waits_for_messages(input)) return;

  auto const loser =
      std::max_element(input.measured.begin(), input.measured.end(),
                       [](MeasuredDevice const& a, MeasuredDevice const& b) {
                         return a.per_step(a.exposed_late_ns) < b.per_step(b.exposed_late_ns);
                       });

  Finding finding = make_cost_finding("load-imbalance", *loser, waiting / total * loser->step_ns());

  StepLoads const loads = step_loads(input);
  if (loads.steps > 0) {
    auto const devices = static_cast<double>(input.measured.size());
    finding.metrics.emplace_back("load_balance", loads.balance(input.measured.size()));
    finding.metrics.emplace_back(
        "longest_minus_mean_ns_per_step",
        (loads.longest - loads.sum / devices) / static_cast<double>(loads.steps));
  }

  finding.metrics.emplace_back("share_of_worst", by_compute.share_of_worst);
  add_waits(finding, input);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
