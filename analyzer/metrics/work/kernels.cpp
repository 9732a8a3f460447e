#include "analyzer/metrics/work/kernels.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/work/kernel_traits.h"
#include "trace/base/column.h"

namespace stepscope::analyzer {
namespace {

constexpr uint32_t kNoGroup = UINT32_MAX;

struct Group {
  KernelStats facts;
  double flops = 0;
  int64_t flops_ns = 0;  ///< duration of the ops whose operations are known; the others alike
  double bytes = 0;
  int64_t bytes_ns = 0;
  double flops_of_both = 0, bytes_of_both = 0;  ///< of the ops with both known
  double occupancy_time = 0;                    ///< Σ percent × duration
  int64_t occupancy_ns = 0;
  int64_t grid_ns = 0, small_grid_ns = 0;
};

void add_kernel(Group& group, model::KernelDetail const& kernel, int64_t dur,
                uint64_t multiprocessors) {
  bool const has_flops = kernel.flops > 0, has_bytes = kernel.bytes > 0;
  if (has_flops) {
    group.flops += kernel.flops;
    add_saturated(group.flops_ns, dur);
  }
  if (has_bytes) {
    group.bytes += static_cast<double>(kernel.bytes);
    add_saturated(group.bytes_ns, dur);
  }
  if (has_flops && has_bytes) {
    group.flops_of_both += kernel.flops;
    group.bytes_of_both += static_cast<double>(kernel.bytes);
  }
  if (kernel.occupancy_percent > 0) {
    group.occupancy_time +=
        static_cast<double>(kernel.occupancy_percent) * static_cast<double>(dur);
    add_saturated(group.occupancy_ns, dur);
  }

  uint64_t const blocks = blocks_of(kernel);
  if (blocks == 0 || multiprocessors == 0) return;
  add_saturated(group.grid_ns, dur);
  if (blocks < multiprocessors) add_saturated(group.small_grid_ns, dur);
}

void add(Group& group, model::Trace const& trace, uint32_t row, int64_t dur,
         uint64_t multiprocessors) {
  ++group.facts.count;
  add_saturated(group.facts.total_ns, dur);
  if (group.facts.kind == model::EventKind::kKernel)
    add_kernel(group, trace.detail<model::KernelDetail>(row), dur, multiprocessors);
}

/// `all`: the durations of its ops.
void finish(Group& group, std::span<int64_t> all, int64_t total, model::Device const* described) {
  KernelStats& facts = group.facts;
  Distribution const durations = distribution(all);
  facts.median_ns = durations.median;
  facts.p95_ns = durations.p95;
  facts.min_ns = durations.least;
  facts.max_ns = durations.most;
  facts.mean_ns = facts.total_ns / static_cast<int64_t>(facts.count);
  facts.share = total > 0 ? static_cast<double>(facts.total_ns) / static_cast<double>(total) : 0;

  if (group.flops_ns > 0)
    facts.flops_rate = group.flops / static_cast<double>(group.flops_ns) * 1e9;
  if (group.bytes_ns > 0)
    facts.bytes_rate = group.bytes / static_cast<double>(group.bytes_ns) * 1e9;
  if (group.bytes_of_both > 0) facts.flops_per_byte = group.flops_of_both / group.bytes_of_both;
  if (facts.flops_rate && described != nullptr && described->peak_flops > 0)
    facts.peak_share = *facts.flops_rate / described->peak_flops;

  if (group.occupancy_ns > 0)
    facts.occupancy_percent = group.occupancy_time / static_cast<double>(group.occupancy_ns);
  if (group.grid_ns > 0)
    facts.small_grid_share =
        static_cast<double>(group.small_grid_ns) / static_cast<double>(group.grid_ns);
  if (facts.kind == model::EventKind::kKernel) facts.tensor_cores = uses_tensor_cores(facts.name);
}

}  // namespace

model::Device const* described_device(DeviceOps const& device) {
  for (model::Device const& described : device.trace().devices())
    if (described.id == device.ref.device) return &described;
  return nullptr;
}

std::vector<KernelStats> kernel_table(DeviceOps const& device, std::vector<uint32_t> const& rows) {
  model::Trace const& trace = device.trace();
  model::Device const* const described = described_device(device);
  uint64_t const multiprocessors = described == nullptr ? 0 : described->threads;
  std::array<std::vector<uint32_t>, model::kKindCount>
      places;  // by kind and name; of kinds that occur
  std::vector<Group> groups;
  base::Column<uint32_t> group_of(rows.size());

  RowView const view = device.rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    uint32_t const row = rows[i];
    std::vector<uint32_t>& of_kind = places[static_cast<size_t>(view.kind(row))];
    if (of_kind.empty()) of_kind.assign(trace.strings().size(), kNoGroup);
    uint32_t& place = of_kind[view.name(row).value];
    if (place == kNoGroup) {
      place = static_cast<uint32_t>(groups.size());
      groups.emplace_back();
      groups.back().facts.ref = device.ref;
      groups.back().facts.name = trace.name(row);
      groups.back().facts.kind = trace.kind(row);
    }
    group_of[i] = place;
    add(groups[place], trace, row, view.dur(row), multiprocessors);
  }

  // The durations of all groups, one group after the other.
  std::vector<size_t> end_of;  // of the groups that are filled in
  size_t first = 0;
  int64_t total = 0;
  for (Group const& group : groups) {
    end_of.push_back(std::exchange(first, first + group.facts.count));
    add_saturated(total, group.facts.total_ns);
  }
  base::Column<int64_t> durations(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) durations[end_of[group_of[i]]++] = view.dur(rows[i]);

  std::vector<KernelStats> result;
  result.reserve(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    size_t const count = groups[g].facts.count;
    finish(groups[g], std::span(durations).subspan(end_of[g] - count, count), total, described);
    result.push_back(std::move(groups[g].facts));
  }

  std::sort(result.begin(), result.end(), [](KernelStats const& a, KernelStats const& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  return result;
}

}  // namespace stepscope::analyzer
