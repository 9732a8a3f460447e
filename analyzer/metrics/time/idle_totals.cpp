#include "analyzer/metrics/time/idle_totals.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace stepscope::analyzer {
namespace {

constexpr size_t kMostNameBytes = 300;
using TimeByHostOp = std::map<std::string, int64_t>;

}  // namespace

std::array<IdleTotal, kIdleCauseCount> idle_totals(model::Run const& run,
                                                   Analysis const& analysis) {
  std::array<IdleTotal, kIdleCauseCount> totals;
  int64_t all_ns = 0;
  for (DeviceStats const& device : analysis.devices)
    for (size_t i = 0; i < totals.size(); ++i) {
      totals[i].total_ns += device.time.idle_by_cause[i];
      all_ns += device.time.idle_by_cause[i];
    }

  std::array<TimeByHostOp, kIdleCauseCount> by_host_op;
  for (IdleGap const gap : analysis.gaps) {
    auto const cause = static_cast<size_t>(gap.cause);
    ++totals[cause].gaps;
    totals[cause].longest_ns = std::max(totals[cause].longest_ns, gap.when.length());

    auto const rank = static_cast<size_t>(gap.ref.rank_index);
    if (!gap.host_name.valid() || rank >= run.ranks.size()) continue;
    std::string_view const name = run.ranks[rank].trace.text(gap.host_name);
    by_host_op[cause][std::string(name.substr(0, kMostNameBytes))] += gap.when.length();
  }

  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].total_ns > 0)
      totals[i].share = static_cast<double>(totals[i].total_ns) / static_cast<double>(all_ns);
    auto const most =
        std::max_element(by_host_op[i].begin(), by_host_op[i].end(),
                         [](auto const& a, auto const& b) { return a.second < b.second; });
    if (most != by_host_op[i].end()) totals[i].host_op = most->first;
  }
  return totals;
}

std::vector<IdleGap> longest_gaps(IdleGaps const& all, size_t most) {
  auto const is_longer = [](auto const& a, auto const& b) {
    return std::tuple(-a.when.length(), a.ref, a.when.begin) <
           std::tuple(-b.when.length(), b.ref, b.when.begin);
  };

  std::vector<IdleGap> longest;  // a heap, the shortest first
  for (IdleGap const gap : all) {
    if (longest.size() == most && !is_longer(gap, longest.front())) continue;
    if (longest.size() == most) {
      std::pop_heap(longest.begin(), longest.end(), is_longer);
      longest.pop_back();
    }

    longest.push_back(gap);
    std::push_heap(longest.begin(), longest.end(), is_longer);
  }

  std::sort_heap(longest.begin(), longest.end(), is_longer);
  return longest;
}

}  // namespace stepscope::analyzer
