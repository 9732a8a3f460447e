// pipeline-bubble: the stages of a pipeline wait for each other while it fills and drains, or for
// one that has more work. Cost: the time per step in which a stage waits for another, as a mean
// over the stages; of several pipelines the one that loses most. No schedule loses nothing: the
// gain is what twice the micro-batches and equal stages give.
#include <algorithm>

#include "analyzer/metrics/communication/pipeline.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// With four micro-batches a stage the bubble of equal stages is below a fifth of the step. Twice
/// as many, each half as large, lose about as much to their smaller kernels: no fault then.
constexpr uint32_t kMicroBatchesPerStage = 4;
/// Stages are whole layers, messages take time: a bubble up to so many times the ideal one is that
/// of its schedule.
constexpr double kAboutIdeal = 1.5;
/// A stage with so much more compute than the mean makes all others wait as long in every
/// micro-batch. A tenth is about one layer of a stage of ten; less cannot be moved.
constexpr double kUnequalStages = 1.1;

MeasuredDevice const* stage_device(RuleInput const& input, DeviceRef ref) {
  auto const at =
      std::lower_bound(input.measured.begin(), input.measured.end(), ref,
                       [](MeasuredDevice const& device, DeviceRef r) { return device.ref < r; });
  return at == input.measured.end() || at->ref != ref ? nullptr : &*at;
}

double per_stage_step(int64_t total, PipelineStats::Stage const& stage) {
  return static_cast<double>(total) / static_cast<double>(std::max<uint64_t>(1, stage.steps));
}

PipelineStats::Stage const& stage_with_most(PipelineStats const& pipeline,
                                            int64_t PipelineStats::Stage::*part) {
  return *std::max_element(pipeline.stages.begin(), pipeline.stages.end(),
                           [&](auto const& a, auto const& b) {
                             return per_stage_step(a.*part, a) < per_stage_step(b.*part, b);
                           });
}

/// A rule that names a stage, or a link between stages, of this pipeline tells where the bubble
/// comes from, as far as it is more than the schedule's.
bool is_named_elsewhere(PipelineStats const& pipeline, std::vector<Finding> const& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](Finding const& finding) {
    if (finding.rule != "straggler" && finding.rule != "slow-link" &&
        finding.rule != "unequal-workers")
      return false;
    return finding.where &&
           std::any_of(pipeline.stages.begin(), pipeline.stages.end(),
                       [&](auto const& stage) { return stage.ref == *finding.where; });
  });
}

Severity bubble_severity(PipelineStats const& pipeline, double share) {
  bool const is_about_ideal = pipeline.bubble_share <= kAboutIdeal * pipeline.ideal_share;
  if (!is_about_ideal) return severity_of_share(share);
  bool const has_enough = pipeline.micro_batches >= kMicroBatchesPerStage * pipeline.stages.size();
  return has_enough ? Severity::kInfo : Severity::kWarning;
}

/// Share of the step that twice the micro-batches save, and equal stages where they are unequal.
/// The schedule waits for (p - 1) / m of what a stage computes, so twice as many micro-batches
/// halve that. Beyond it a pipeline waits for its slowest stage, which can give no more than its
/// excess over the mean.
double gain_of_remedies(PipelineStats const& pipeline, double bubble, bool is_unequal) {
  double const of_schedule = std::min(bubble, pipeline.ideal_share);
  double step = 1;
  if (is_unequal) step = std::clamp((1 - bubble) / (1 - of_schedule), 1 / pipeline.imbalance, 1.0);
  step *= 1 - of_schedule / 2;
  return 1 / step - 1;
}

/// When the stage waits for another.
void add_bubbles(Finding& finding, RuleInput const& input, MeasuredDevice const& device) {
  for (CollectiveStats const& collective : input.facts.collectives) {
    if (!model::is_point_to_point(collective.op)) continue;
    for (auto const& own : collective.participants)
      if (own.ref == device.ref && own.exposed_late_ns > 0 && device.is_measured(own.when.begin))
        finding.evidence.push_back(
            {own.ref, {own.when.begin, own.when.begin + own.wait_ns}, std::nullopt});
  }
  keep_longest(finding.evidence);
}

}  // namespace

void find_pipeline_bubble(RuleInput const& input, std::vector<Finding>& findings) {
  auto const& pipelines = input.facts.pipelines;
  auto const worst = std::max_element(
      pipelines.begin(), pipelines.end(),
      [](auto const& a, auto const& b) { return a.bubble_share < b.bubble_share; });
  if (worst == pipelines.end()) return;

  auto const& waiting = stage_with_most(*worst, &PipelineStats::Stage::bubble_ns);
  auto const& slowest = stage_with_most(*worst, &PipelineStats::Stage::compute_ns);
  MeasuredDevice const* const device = stage_device(input, waiting.ref);
  if (device == nullptr) return;

  bool const explained = is_named_elsewhere(*worst, findings);
  // What the other rule names is its cost: here is what stays when that is mended.
  double const share =
      explained ? std::min(worst->bubble_share, worst->ideal_share) : worst->bubble_share;
  if (share < kWarningShare) return;

  Finding finding = make_cost_finding("pipeline-bubble", *device, share * device->step_ns());
  finding.severity = explained ? Severity::kInfo : bubble_severity(*worst, share);
  bool const is_unequal = !explained && worst->imbalance >= kUnequalStages;
  finding.gain_ceiling = gain_of_remedies(*worst, share, is_unequal);

  finding.metrics.emplace_back("bubble_share", worst->bubble_share);
  finding.metrics.emplace_back("ideal_share", worst->ideal_share);
  finding.metrics.emplace_back("doubled_share",
                               ideal_bubble(worst->stages.size(), 2 * worst->micro_batches));
  finding.metrics.emplace_back("stages", static_cast<double>(worst->stages.size()));
  finding.metrics.emplace_back("micro_batches", worst->micro_batches);
  finding.metrics.emplace_back("stage_imbalance", worst->imbalance);
  finding.metrics.emplace_back("pipelines", static_cast<double>(pipelines.size()));
  finding.subjects.emplace_back("schedule", to_string(worst->schedule));

  if (is_unequal) {
    finding.where = slowest.ref;
    finding.subjects.emplace_back("cause", "imbalance");
    finding.metrics.emplace_back("slowest_stage",
                                 static_cast<double>(&slowest - worst->stages.data()));
  }

  add_bubbles(finding, input, *device);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
