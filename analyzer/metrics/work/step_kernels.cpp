#include "analyzer/metrics/work/step_kernels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

/// From a name and kind to the kernel's place in the device's table, if it has a row of its own in
/// the steps.
class StepKernelPlaces {
 public:
  StepKernelPlaces(model::Trace const& trace, std::vector<KernelStats> const& table) {
    size_t named = 0;
    for (size_t place = 0; place < table.size() && named < kMostStepKernels; ++place) {
      KernelStats const& kernel = table[place];
      if (model::kind_info(kernel.kind).op_class != model::OpClass::kCompute) continue;
      ++named;

      std::vector<uint32_t>& of_kind = places(kernel.kind);
      if (of_kind.empty()) of_kind.assign(trace.strings().size(), StepKernel::kOthers);
      model::StringId const name = trace.strings().find(kernel.name);
      if (name.valid()) of_kind[name.value] = static_cast<uint32_t>(place);
    }
  }
  [[nodiscard]] uint32_t of(model::EventKind kind, model::StringId name) const {
    std::vector<uint32_t> const& of_kind = kind == model::EventKind::kMemset ? memsets_ : kernels_;
    return of_kind.empty() ? StepKernel::kOthers : of_kind[name.value];
  }

 private:
  std::vector<uint32_t>& places(model::EventKind kind) {
    return kind == model::EventKind::kMemset ? memsets_ : kernels_;
  }

  std::vector<uint32_t> kernels_, memsets_;  ///< by name
};

/// Calls and durations of one step, by place; the touched places are kept, so that a step costs
/// what it holds.
class StepTally {
 public:
  explicit StepTally(size_t places) : rows_(places + 1) {}
  void add(uint32_t place, int64_t ns) {
    size_t const row = place == StepKernel::kOthers ? rows_.size() - 1 : place;
    if (rows_[row].count == 0) touched_.push_back(row);
    rows_[row].kernel = place;
    ++rows_[row].count;
    add_saturated(rows_[row].total_ns, ns);
  }
  /// The kernels by place, the others last. The tally is empty afterwards.
  std::vector<StepKernel> take() {
    std::sort(touched_.begin(), touched_.end());
    std::vector<StepKernel> taken;
    taken.reserve(touched_.size());
    for (size_t const row : touched_) taken.push_back(std::exchange(rows_[row], {}));
    touched_.clear();
    return taken;
  }

 private:
  std::vector<StepKernel> rows_;
  std::vector<size_t> touched_;
};

}  // namespace

void add_step_kernels(DeviceOps const& device, std::vector<uint32_t> const& ops,
                      std::vector<KernelStats> const& table, std::vector<StepStats>& steps) {
  if (steps.empty()) return;
  model::Trace const& trace = device.trace();
  StepKernelPlaces const places(trace, table);
  StepTally tally(table.size());
  RowView const rows = device.rows();

  std::vector<size_t> by_time(steps.size());
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
    return steps[a].window.begin < steps[b].window.begin;
  });

  size_t at = 0;
  for (size_t const s : by_time) {
    StepStats& step = steps[s];
    while (at < ops.size() && rows.start(ops[at]) < step.window.begin) ++at;
    for (; at < ops.size() && rows.start(ops[at]) < step.window.end; ++at) {
      uint32_t const row = ops[at];
      model::EventKind const kind = rows.kind(row);
      if (kind == model::EventKind::kMemcpy) {
        auto const& copy = trace.detail<model::CopyDetail>(row);
        if (copy.direction == model::CopyDirection::kHostToDevice)
          add_saturated(step.copied_in_bytes, copy.bytes);
      } else if (rows.op_class(row) == model::OpClass::kCompute) {
        tally.add(places.of(kind, rows.name(row)), rows.dur(row));
      }
    }
    step.kernels = tally.take();
  }
}

}  // namespace stepscope::analyzer
