#include "analyzer/metrics/host/long_gaps.h"

#include <algorithm>
#include <map>

#include "analyzer/metrics/host/host_activity.h"

namespace stepscope::analyzer {
namespace {

/// Shorter parts of a gap are not worth a name.
constexpr int64_t kLeastPart = 10;

std::vector<IdleGap> longest_late_launches(std::vector<IdleGap> const& gaps) {
  std::vector<IdleGap> found;
  for (IdleGap const& gap : gaps)
    if (gap.cause == IdleCause::kLaunchBound && gap.host_row.valid() &&
        gap.when.length() >= kLongGapNs)
      found.push_back(gap);
  if (found.size() <= kMostLongGaps) return found;

  auto const is_longer = [](IdleGap const& a, IdleGap const& b) {
    return a.when.length() != b.when.length() ? a.when.length() > b.when.length()
                                              : a.when.begin < b.when.begin;
  };
  std::nth_element(found.begin(), found.begin() + kMostLongGaps, found.end(), is_longer);
  found.resize(kMostLongGaps);
  std::sort(found.begin(), found.end(),
            [](IdleGap const& a, IdleGap const& b) { return a.when.begin < b.when.begin; });
  return found;
}

}  // namespace

std::vector<DeviceStats::HostWork> other_work_in_long_gaps(model::RankTrace const& rank,
                                                           std::vector<IdleGap> const& gaps) {
  RowView const rows(rank);
  std::map<uint32_t, HostCursor> cursors;  // by track
  std::vector<DeviceStats::HostWork> work;

  for (IdleGap const& gap : longest_late_launches(gaps)) {
    HostCursor& cursor =
        cursors.try_emplace(gap.host_track.value, rank, gap.host_track).first->second;
    Interval const named = rows.when(gap.host_row.value);

    for (Interval const part : {Interval{gap.when.begin, std::min(named.begin, gap.when.end)},
                                Interval{std::max(named.end, gap.when.begin), gap.when.end}}) {
      if (part.length() * kLeastPart < gap.when.length()) continue;
      model::EventId const most = cursor.dominant(part);
      if (!most.valid() || rows.name(most.value) == gap.host_name) continue;
      Interval const when = rows.when(most.value);
      work.push_back({{std::max(when.begin, part.begin), std::min(when.end, part.end)},
                      rows.name(most.value)});
    }
  }

  return work;
}

}  // namespace stepscope::analyzer
