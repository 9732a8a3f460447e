#include "analyzer/whatif/replay/replay_graph.h"

#include <algorithm>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "analyzer/metrics/critical_path/dependency_graphs.h"
#include "analyzer/whatif/replay/graph_joiner.h"
#include "analyzer/whatif/replay/process_nodes.h"
#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

/// The steps of all devices, and to which of them each device op belongs.
class ReplaySteps {
 public:
  ReplaySteps(ReplayInput const& input, std::vector<PathProcess> const& processes)
      : input_(input), step_of_row_(processes.size()) {
    for (size_t p = 0; p < processes.size(); ++p) {
      step_of_row_[p].assign(processes[p].front().trace().event_count(), -1);
      for (DeviceOps const& device : processes[p]) add_device(device, step_of_row_[p]);
    }
  }
  std::vector<ReplayStep> take() && { return std::move(steps_); }
  [[nodiscard]] std::vector<int32_t> const& of_rows(size_t process) const {
    return step_of_row_[process];
  }

 private:
  void add_device(DeviceOps const& device, std::vector<int32_t>& step_of_row) {
    auto const chosen =
        std::lower_bound(input_.chosen.begin(), input_.chosen.end(), device.ref,
                         [](DeviceStats const& d, DeviceRef ref) { return d.ref < ref; });
    if (chosen == input_.chosen.end() || chosen->ref != device.ref) return;
    auto const& periods = input_.periods[static_cast<size_t>(chosen - input_.chosen.begin())];

    auto const first = static_cast<int32_t>(steps_.size());
    DeviceSteps const assigned = assign_steps(device, input_.host_steps, 0);
    if (assigned.steps.empty()) {
      add_whole(device, periods, step_of_row);
      return;
    }

    for (size_t i = 0; i < assigned.steps.size(); ++i) add_step(assigned.steps, i, periods);
    for (size_t op = 0; op < device.ops.size(); ++op)
      if (int32_t const step = assigned.step_of_op[op]; step >= 0)
        step_of_row[device.ops[op]] = first + step;
  }

  void add_step(std::vector<StepStats> const& steps, size_t place,
                std::vector<Interval> const& periods) {
    StepStats const& step = steps[place];
    auto period =
        std::lower_bound(periods.begin(), periods.end(), step.window.end,
                         [](Interval const& when, int64_t end) { return when.end < end; });
    // Where several periods have this end, that of an empty step comes last.
    int64_t const earliest = place > 0 ? steps[place - 1].window.end : -model::kMaxTime;
    while (period != periods.end() && period->end == step.window.end && period->begin < earliest)
      ++period;

    ReplayStep added{step.ref, step.step, false, -1, step.window, 0};
    if (period != periods.end() && period->end == step.window.end) {
      added.is_measured = true;
      added.when = *period;
    }
    if (place > 0) {
      added.before = static_cast<int32_t>(steps_.size()) - 1;
      added.lead_ns = added.when.begin - steps[place - 1].window.end;
    }
    steps_.push_back(added);
  }

  /// Without steps the device's whole window counts as one.
  void add_whole(DeviceOps const& device, std::vector<Interval> const& periods,
                 std::vector<int32_t>& step_of_row) {
    if (periods.empty()) return;
    auto const number = static_cast<int32_t>(steps_.size());
    steps_.push_back({device.ref, 0, true, -1, periods.front(), 0});
    for (uint32_t const row : device.ops)
      if (device.end(row) <= periods.front().end) step_of_row[row] = number;
  }

  ReplayInput const& input_;
  std::vector<ReplayStep> steps_;
  std::vector<std::vector<int32_t>> step_of_row_;  ///< by process
};

/// In parts that each keep a core busy for some 100 µs.
template <class T>
base::Column<T> copy_column(base::Column<T> const& column) {
  constexpr size_t kPart = size_t{1} << 17U;
  base::Column<T> copy;
  base::reserve_long(copy, column.size());
  copy.resize(column.size());

  tbb::parallel_for(tbb::blocked_range<size_t>(0, column.size(), kPart), [&](auto const& part) {
    std::copy(column.begin() + static_cast<ptrdiff_t>(part.begin()),
              column.begin() + static_cast<ptrdiff_t>(part.end()),
              copy.begin() + static_cast<ptrdiff_t>(part.begin()));
  });
  return copy;
}

}  // namespace

ReplayGraph make_replay_graph(ReplayInput const& input) {
  ProcessGraphs const made = make_process_graphs({input.devices,
                                                  input.host_steps,
                                                  input.collectives,
                                                  input.chosen,
                                                  input.launch_latency_limit_ns,
                                                  {}});
  ReplaySteps steps(input, made.processes);
  ReplayGraph result;

  std::vector<uint16_t> first_device;
  uint16_t devices = 0;
  for (PathProcess const process : made.processes) {
    auto const rank_index = static_cast<size_t>(process.front().ref.rank_index);
    result.processes.push_back({process, &input.host_steps.threads[rank_index]});
    first_device.push_back(devices);
    devices = static_cast<uint16_t>(devices + process.size());
  }

  std::vector<ProcessNodes> parts(made.processes.size());
  tbb::parallel_for(size_t{0}, parts.size(), [&](size_t p) {
    parts[p] = make_process_nodes(result.processes[p], made.graphs[p], static_cast<uint32_t>(p),
                                  first_device[p], steps.of_rows(p));
  });

  result.steps = std::move(steps).take();
  join_nodes(parts, input.collectives, result);
  return result;
}

ReplayWeights copy_weights(ReplayWeights const& weights) {
  return {copy_column(weights.own), copy_column(weights.lag), copy_column(weights.source)};
}

}  // namespace stepscope::analyzer
