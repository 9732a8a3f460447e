#include "analyzer/metrics/work/totals_over_devices.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

void add_copies(CopyStats& sum, CopyStats const& row) {
  sum.count += row.count;
  sum.bytes += row.bytes;
  sum.small_count += row.small_count;
  sum.blocking_count += row.blocking_count;

  add_saturated(sum.total_ns, row.total_ns);
  add_saturated(sum.both_ways_ns, row.both_ways_ns);
  if (row.pageable_count) sum.pageable_count = sum.pageable_count.value_or(0) + *row.pageable_count;
  if (row.pageable_bytes) sum.pageable_bytes = sum.pageable_bytes.value_or(0) + *row.pageable_bytes;

  sum.gbps.reset();
  if (sum.total_ns > 0)
    sum.gbps = static_cast<double>(sum.bytes) / static_cast<double>(sum.total_ns);  // bytes/ns
}

void add_known(std::optional<int64_t>& sum, std::optional<int64_t> more) {
  if (more) sum = saturated_sum(sum.value_or(0), *more);
}

}  // namespace

std::vector<OpTotal> op_totals(Analysis const& analysis, OpStats::Level level) {
  std::map<std::pair<OpStats::What, std::string_view>, OpTotal> by_name;
  int64_t all_ns = 0;
  for (OpStats const& row : analysis.ops) {
    if (row.level != level) continue;
    add_saturated(all_ns, row.total_ns);

    OpTotal& sum = by_name[{row.what, row.name}];
    if (sum.first == nullptr) sum.first = &row;
    sum.count += row.count;
    add_saturated(sum.total_ns, row.total_ns);
    ++sum.devices;

    if (row.total_ns <= sum.most_ns) continue;
    sum.most_ns = row.total_ns;
    sum.most_on = row.ref;
  }

  std::vector<OpTotal> sums;
  for (auto& [key, sum] : by_name) {
    if (all_ns > 0) sum.share = static_cast<double>(sum.total_ns) / static_cast<double>(all_ns);
    sums.push_back(sum);
  }
  std::stable_sort(sums.begin(), sums.end(), [](OpTotal const& a, OpTotal const& b) {
    bool const a_is_range = a.first->what == OpStats::What::kRange;
    bool const b_is_range = b.first->what == OpStats::What::kRange;
    return a_is_range != b_is_range ? a_is_range : a.total_ns > b.total_ns;
  });
  return sums;
}

std::vector<CopyStats> copy_totals(Analysis const& analysis) {
  std::map<model::CopyDirection, CopyStats> by_direction;
  for (CopyStats const& row : analysis.copies) {
    CopyStats& sum = by_direction[row.direction];
    sum.direction = row.direction;
    add_copies(sum, row);
  }

  std::vector<CopyStats> sums;
  for (auto const& [direction, sum] : by_direction) sums.push_back(sum);
  return sums;
}

std::vector<PhaseStats> phase_totals(Analysis const& analysis) {
  std::map<std::string_view, size_t> places;
  std::vector<PhaseStats> sums;
  for (PhaseStats const& row : analysis.phases) {
    auto const [found, is_new] = places.emplace(row.name, sums.size());
    if (is_new) {
      sums.push_back(row);
      continue;
    }

    PhaseStats& sum = sums[found->second];
    sum.count += row.count;
    sum.ops += row.ops;
    add_saturated(sum.host_ns, row.host_ns);
    add_known(sum.busy_ns, row.busy_ns);
    add_known(sum.compute_ns, row.compute_ns);
    add_known(sum.exposed_comm_ns, row.exposed_comm_ns);
  }

  std::stable_sort(sums.begin(), sums.end(), [](auto const& a, auto const& b) {
    return a.name.empty() != b.name.empty() ? b.name.empty()
                                            : a.busy_ns.value_or(0) > b.busy_ns.value_or(0);
  });
  return sums;
}

}  // namespace stepscope::analyzer
