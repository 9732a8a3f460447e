#include "reports/json/wait_json.h"

#include <cmath>
#include <optional>

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using WaitJson = nlohmann::ordered_json;

WaitJson share_or_null(std::optional<double> share) {
  return share && std::isfinite(*share) ? WaitJson(*share) : WaitJson(nullptr);
}

}  // namespace

nlohmann::ordered_json waits_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WaitJson waits = WaitJson::array();

  for (analyzer::WaitStats const& row : analysis.waits)
    waits.push_back({{"rank", rank_of(run, row.ref)},
                     {"device", row.ref.device},
                     {"cause", analyzer::cause_of(row)},
                     {"host_op", row.host_op.empty() ? WaitJson(nullptr)
                                                     : WaitJson(base::printable(row.host_op))},
                     {"gpu_ns", row.gpu_ns},
                     {"exposed_ns", row.exposed_ns},
                     {"collectives", row.collectives}});

  return waits;
}

nlohmann::ordered_json pipelines_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WaitJson pipelines = WaitJson::array();
  for (analyzer::PipelineStats const& pipeline : analysis.pipelines) {
    WaitJson stages = WaitJson::array();

    for (analyzer::PipelineStats::Stage const& stage : pipeline.stages)
      stages.push_back({{"rank", rank_of(run, stage.ref)},
                        {"device", stage.ref.device},
                        {"steps", stage.steps},
                        {"total_ns", stage.total_ns},
                        {"bubble_ns", stage.bubble_ns},
                        {"compute_ns", stage.compute_ns}});

    bool const is_known = pipeline.schedule != analyzer::PipelineSchedule::kUnknown;
    pipelines.push_back({{"schedule", is_known ? WaitJson(analyzer::to_string(pipeline.schedule))
                                               : WaitJson(nullptr)},
                         {"micro_batches", pipeline.micro_batches},
                         {"bubble_share", pipeline.bubble_share},
                         {"ideal_share", pipeline.ideal_share},
                         {"stage_imbalance", pipeline.imbalance},
                         {"stages", stages}});
  }

  return pipelines;
}

nlohmann::ordered_json slowdown_json(model::Run const& run, analyzer::Analysis const& analysis) {
  if (!analysis.slowdown) return nullptr;
  analyzer::SlowdownStats const& slowdown = *analysis.slowdown;

  WaitJson stages = WaitJson::array(), data_ranks = WaitJson::array();
  for (auto const& stage : slowdown.stages)
    stages.push_back(
        {{"stage", stage.stage}, {"s", stage.s}, {"compute_ratio", stage.compute_ratio}});
  for (auto const& data_rank : slowdown.data_ranks)
    data_ranks.push_back({{"data_rank", data_rank.data_rank}, {"s", data_rank.s}});

  WaitJson workers = WaitJson::array(), operations = WaitJson::array();
  for (auto const& worker : slowdown.workers)
    workers.push_back({{"rank", rank_of(run, worker.ref)},
                       {"device", worker.ref.device},
                       {"stage", worker.stage},
                       {"data_rank", worker.data_rank},
                       {"tensor_rank", worker.tensor_rank},
                       {"s", worker.s},
                       {"is_among_slowest", worker.is_among_slowest}});
  for (auto const& operation : slowdown.operations)
    operations.push_back({{"name", base::printable(operation.name)}, {"s", operation.s}});

  return {{"s", slowdown.s},
          {"m_stage", share_or_null(slowdown.m_stage)},
          {"m_slowest_stage", share_or_null(slowdown.m_slowest_stage)},
          {"m_worker", share_or_null(slowdown.m_worker)},
          {"steps", slowdown.steps},
          {"left_out_steps", slowdown.left_out_steps},
          {"recorded_step_ns", slowdown.recorded_step_ns},
          {"step_ns", slowdown.step_ns},
          {"ideal_step_ns", slowdown.ideal_step_ns},
          {"stages", stages},
          {"data_ranks", data_ranks},
          {"workers", workers},
          {"operations", operations}};
}

}  // namespace stepscope::reports
