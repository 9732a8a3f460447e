#include "analyzer/facts/kernels.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope::analyzer {
namespace {

/// Smallest value that at least `percent` % of the durations do not pass.
int64_t quantile(std::vector<int64_t>& durations, size_t percent) {
  size_t const place = (durations.size() * percent + 99) / 100 - 1;
  auto const at = durations.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(durations.begin(), at, durations.end());
  return *at;
}

struct Group {
  KernelFacts facts;
  std::vector<int64_t> durations;
  double flops = 0;
  int64_t flops_ns = 0;  ///< duration of the ops whose operations are known
};

void add(Group& group, model::Trace const& trace, uint32_t row) {
  int64_t const dur = trace.columns().dur[row];
  group.durations.push_back(dur);
  group.facts.total_ns += dur;
  if (trace.kind(row) != model::EventKind::kKernel) return;
  double const flops = trace.detail<model::KernelDetail>(row).flops;
  if (flops <= 0) return;
  group.flops += flops;
  group.flops_ns += dur;
}

}  // namespace

std::vector<KernelFacts> kernel_table(DeviceIndex const& device, std::vector<uint32_t> const& rows) {
  model::Trace const& trace = device.trace();
  std::unordered_map<uint64_t, size_t> places;  // (name, kind) → group
  std::vector<Group> groups;
  int64_t total = 0;
  for (uint32_t const row : rows) {
    uint64_t const key = (uint64_t{trace.columns().name[row].value} << 8) | static_cast<uint64_t>(trace.kind(row));
    auto const [found, is_new] = places.emplace(key, groups.size());
    if (is_new) {
      groups.emplace_back();
      groups.back().facts.ref = device.ref;
      groups.back().facts.name = trace.name(row);
      groups.back().facts.kind = trace.kind(row);
    }
    add(groups[found->second], trace, row);
    total += trace.columns().dur[row];
  }
  std::vector<KernelFacts> result;
  for (Group& group : groups) {
    KernelFacts& facts = group.facts;
    facts.count = group.durations.size();
    facts.median_ns = quantile(group.durations, 50);
    facts.p95_ns = quantile(group.durations, 95);
    auto const [least, most] = std::minmax_element(group.durations.begin(), group.durations.end());
    facts.min_ns = *least;
    facts.max_ns = *most;
    facts.share = total > 0 ? static_cast<double>(facts.total_ns) / static_cast<double>(total) : 0;
    if (group.flops_ns > 0) facts.flops_rate = group.flops / static_cast<double>(group.flops_ns) * 1e9;
    result.push_back(std::move(facts));
  }
  std::sort(result.begin(), result.end(), [](KernelFacts const& a, KernelFacts const& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  return result;
}

}  // namespace stepscope::analyzer
