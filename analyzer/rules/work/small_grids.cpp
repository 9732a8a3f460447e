// small-grids: kernels have fewer blocks than the GPU has multiprocessors, and nothing else runs
// beside them. Cost: their time beyond that of an empty kernel × the share of multiprocessors
// without a block, per step. It excludes kernels that wait for the default stream
// (serialized-streams): those would run side by side.
#include <algorithm>

#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// A ceiling: more blocks are shorter ones, but rarely in proportion.
constexpr double kLeastGridShare = 0.10;

}  // namespace

void find_small_grids(RuleInput const& input, std::vector<Finding>& findings) {
  auto finding = find_slow_cost(
      "small-grids", input, kLeastGridShare,
      [](MeasuredDevice const&, SlowTime const& slow) {
        return std::max<int64_t>(0, slow.small_grid_lost_ns - slow.serialized_ns);
      },
      [](MeasuredDevice const&, SlowTime const&) { return true; });
  if (!finding) return;

  for (MeasuredDevice const& device : input.measured)
    if (device.ref == finding->where)
      finding->metrics.emplace_back(
          "small_grid_ns_per_step",
          device.per_step(measured_slow_time(input, device).small_grid_ns));

  std::string kernel = heaviest_kernel(input, *finding->where, [](KernelStats const& facts) {
    return facts.small_grid_share.value_or(0) * static_cast<double>(facts.total_ns);
  });
  if (!kernel.empty()) finding->subjects.emplace_back("kernel", std::move(kernel));
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
