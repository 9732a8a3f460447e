#include "analyzer/metrics/work/device_work.h"

#include <algorithm>

#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/work/copies.h"
#include "analyzer/metrics/work/kernels.h"
#include "analyzer/metrics/work/slow_time.h"
#include "analyzer/metrics/work/step_kernels.h"

namespace stepscope::analyzer {
namespace {

template <class Row>
void append_rows(std::vector<Row> rows, std::vector<Row>& to) {
  std::move(rows.begin(), rows.end(), std::back_inserter(to));
}

}  // namespace

void add_device_work(DeviceOps const& device, DeviceSets const& sets,
                     std::vector<LaunchPlace> const& places, std::vector<uint32_t> const& ops,
                     DeviceStats& facts, std::vector<StepStats>& steps, Analysis& analysis) {
  std::vector<KernelStats> kernels = kernel_table(device, ops);
  int64_t all_ns = 0;
  for (KernelStats const& kernel : kernels) add_saturated(all_ns, kernel.total_ns);
  add_step_kernels(device, ops, kernels, steps);
  append_rows(std::move(kernels), analysis.kernels);

  SlowTimes const slow(device, sets, places);
  facts.slow = slow.within(facts.window);
  for (StepStats& step : steps) step.slow = slow.within(step.window);

  std::vector<LaunchedOp> const launched = launched_ops(device, ops);
  facts.launch = launch_facts(device, ops, launched, facts.window, steps);
  append_rows(op_tables(device, ops, launched, places), analysis.ops);
  std::vector<GraphStats> graphs = graph_table(device, ops);
  add_graph_totals(graphs, all_ns, facts.launch);
  append_rows(std::move(graphs), analysis.graphs);

  append_rows(copy_table(device, ops), analysis.copies);
  facts.longest_copies = longest_copies(device, ops, steps);
}

}  // namespace stepscope::analyzer
