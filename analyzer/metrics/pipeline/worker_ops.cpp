#include "analyzer/metrics/pipeline/worker_ops.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope::analyzer {
namespace {

/// Operations by name: the parts of the model that a stage holds share one.
class OperationNames {
 public:
  explicit OperationNames(std::vector<std::string>& names) : names_(names) {}

  struct Known {
    uint32_t name = 0;
    int32_t chunk = 0;
  };
  /// Nothing beyond kMostOperationNames.
  std::optional<Known> of(model::StringId id, std::string_view text) {
    auto const [known, is_new] = known_.try_emplace(id.value);
    if (!is_new) return known->second;

    auto const [operation, chunk] = model::chunk_operation_of(text);
    auto const at = std::find(names_.begin(), names_.end(), operation);
    if (at == names_.end() && names_.size() >= kMostOperationNames) return std::nullopt;
    known->second = Known{static_cast<uint32_t>(at - names_.begin()), chunk};
    if (at == names_.end()) names_.emplace_back(operation);
    return known->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<uint32_t, std::optional<Known>> known_;
};

}  // namespace

std::optional<WorkerOps> worker_ops_of(DeviceOps const& device, DeviceSteps const& steps,
                                       AnalyzeOptions const& options) {
  auto const place = model::pipeline_place_of(device.name);
  if (!place) return std::nullopt;
  WorkerOps worker{device.ref, *place, {}, {}};
  OperationNames names(worker.names);

  RowView const rows = device.rows();
  for (size_t i = 0; i < device.ops.size(); ++i) {
    if (steps.step_of_op[i] < 0) continue;
    int64_t const step = steps.steps[static_cast<size_t>(steps.step_of_op[i])].step;
    if (options.steps && (step < options.steps->first || step > options.steps->second)) continue;

    uint32_t const row = device.ops[i];
    auto const known = names.of(rows.name(row), device.trace().name(row));
    if (!known) continue;
    WorkerOp op{step, known->name, known->chunk, false, rows.when(row), 0, 0};
    if (rows.kind(row) == model::EventKind::kCollective) {
      auto const& detail = device.trace().detail<model::CollectiveDetail>(row);
      op.is_comm = true;
      op.communicator = detail.communicator;
      op.sequence = detail.sequence;
    }
    worker.ops.push_back(op);
  }
  return worker;
}

}  // namespace stepscope::analyzer
