// serialized-streams: kernels of several streams that would fit on the GPU side by side run one
// after the other, because one of the streams is the default stream. Cost: the time that kernels
// wait for that reason alone (metrics/work/slow_time.h), per step.
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// Kernels side by side share the memory's bandwidth, so that less is gained than they wait.
constexpr double kLeastSerializedShare = 0.10;

}  // namespace

void find_serialized_streams(RuleInput const& input, std::vector<Finding>& findings) {
  auto finding = find_slow_cost(
      "serialized-streams", input, kLeastSerializedShare,
      [](MeasuredDevice const&, SlowTime const& slow) { return slow.serialized_ns; },
      [](MeasuredDevice const&, SlowTime const&) { return true; });
  if (finding) findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
