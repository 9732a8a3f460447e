#include "reports/json/wait_json.h"

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using WaitJson = nlohmann::ordered_json;

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

}  // namespace stepscope::reports
