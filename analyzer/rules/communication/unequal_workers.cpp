// unequal-workers: in a pipeline whose devices name their places, one stage or one worker is slower
// than the others, which wait for it in each step. Cost: what a step would be shorter if it took as
// long as equal workers do (metrics/pipeline/slowdown.h).
#include <algorithm>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// A stage or worker that accounts for at least half of the loss is worth changing first.
constexpr double kNamedShare = 0.5;
/// A stage whose one slow worker accounts for nearly as much is not to be named: its other workers
/// are not slow.
constexpr double kNearlyAsMuch = 0.9;

/// The slowest of the workers that `is_meant` chooses.
template <class IsMeant>
SlowdownStats::Worker const* slowest_worker(SlowdownStats const& slowdown, IsMeant is_meant) {
  SlowdownStats::Worker const* slowest = nullptr;
  for (SlowdownStats::Worker const& worker : slowdown.workers)
    if (is_meant(worker) && (slowest == nullptr || worker.s > slowest->s)) slowest = &worker;
  return slowest;
}

SlowdownStats::Stage const* stage_of_largest_s(SlowdownStats const& slowdown) {
  auto const slowest = std::max_element(
      slowdown.stages.begin(), slowdown.stages.end(),
      [](SlowdownStats::Stage const& a, SlowdownStats::Stage const& b) { return a.s < b.s; });
  return slowest == slowdown.stages.end() ? nullptr : &*slowest;
}

MeasuredDevice const* measured_worker(RuleInput const& input, DeviceRef ref) {
  auto const at = std::find_if(input.measured.begin(), input.measured.end(),
                               [&](MeasuredDevice const& device) { return device.ref == ref; });
  return at == input.measured.end() ? nullptr : &*at;
}

/// A straggler among the workers that are named is the same loss, seen from one of them: one
/// culprit stays, as severe as the worse of both.
void take_over_straggler(SlowdownStats const& slowdown, SlowdownStats::Worker const& named,
                         bool is_worker, Finding& finding, std::vector<Finding>& findings) {
  auto const is_of_named = [&](Finding const& other) {
    if (other.rule != "straggler" || !other.where) return false;
    return std::any_of(slowdown.workers.begin(), slowdown.workers.end(),
                       [&](SlowdownStats::Worker const& worker) {
                         return worker.ref == *other.where && worker.stage == named.stage &&
                                (!is_worker || worker.data_rank == named.data_rank);
                       });
  };

  for (Finding const& other : findings)
    if (is_of_named(other)) finding.severity = std::max(finding.severity, other.severity);
  std::erase_if(findings, is_of_named);
}

}  // namespace

void find_unequal_workers(RuleInput const& input, std::vector<Finding>& findings) {
  if (!input.facts.slowdown) return;
  SlowdownStats const& slowdown = *input.facts.slowdown;
  SlowdownStats::Stage const* const stage = stage_of_largest_s(slowdown);
  double const of_stage = slowdown.m_slowest_stage.value_or(0),
               of_worker = slowdown.m_worker.value_or(0);
  if (stage == nullptr || std::max(of_stage, of_worker) < kNamedShare) return;

  // Without data parallelism a worker is its stage.
  bool const is_worker = slowdown.data_ranks.size() > 1 && of_worker >= kNearlyAsMuch * of_stage;
  SlowdownStats::Worker const* const worker =
      slowest_worker(slowdown, [&](SlowdownStats::Worker const& each) {
        return is_worker ? each.is_among_slowest : each.stage == stage->stage;
      });
  MeasuredDevice const* const device =
      worker == nullptr ? nullptr : measured_worker(input, worker->ref);
  if (device == nullptr) return;

  // What is regained can be more than the loss: others are faster than equal workers.
  double const share = is_worker ? of_worker : of_stage;
  double const loss = slowdown.step_ns - slowdown.ideal_step_ns;
  double const cost = std::min(share * loss / slowdown.step_ns, 1.0) * device->step_ns();
  Finding finding = make_cost_finding("unequal-workers", *device, cost);
  if (finding.severity == Severity::kInfo) return;

  finding.metrics.emplace_back("slowdown", slowdown.s);
  finding.metrics.emplace_back("share_of_loss", share);
  finding.metrics.emplace_back("slow_stage", worker->stage);
  finding.metrics.emplace_back("own_slowdown", is_worker ? worker->s : stage->s);
  if (is_worker) {
    finding.metrics.emplace_back("slow_data_rank", worker->data_rank);
  } else {
    finding.metrics.emplace_back("stage_compute", stage->compute_ratio);
  }
  finding.subjects.emplace_back("cause", is_worker ? "worker" : "stage");

  for (Interval const& period : device->periods)
    finding.evidence.push_back({worker->ref, period, {}});
  keep_longest(finding.evidence);
  take_over_straggler(slowdown, *worker, is_worker, finding, findings);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
