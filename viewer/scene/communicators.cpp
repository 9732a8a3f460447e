#include "viewer/scene/communicators.h"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::viewer {

std::vector<CommunicatorLanes> communicator_lanes(model::Trace const& trace,
                                                  std::span<uint32_t const> tracks) {
  auto const& columns = trace.columns();
  struct Found {
    uint32_t row, communicator;
  };
  std::vector<CommunicatorLanes> result;
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<Found> found;

  for (uint32_t const track : tracks) {
    std::vector<bool> is_here;
    auto const rows = trace.rows_of(model::TrackId{track});
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (columns.kind[row] != model::EventKind::kCollective) continue;
      auto const& detail = trace.detail<model::CollectiveDetail>(row);
      if (detail.communicator == 0) continue;
      auto const number =
          numbers.try_emplace(detail.communicator, static_cast<uint32_t>(result.size()))
              .first->second;
      if (number == result.size()) result.push_back({{detail.communicator, 0, 0, 0}, {}});
      Communicator& of = result[number].of;

      if (of.participants == 0) of.participants = detail.participants;
      is_here.resize(std::max<size_t>(is_here.size(), number + 1));
      if (!is_here[number]) ++of.tracks;
      of.last_track = track;
      is_here[number] = true;
      found.push_back({row, number});
    }
  }

  std::stable_sort(found.begin(), found.end(), [&](Found const& a, Found const& b) {
    return columns.start[a.row] < columns.start[b.row];
  });

  std::vector<FreeLanes> free(result.size());
  std::vector<std::vector<int64_t>> busy(result.size());  // of each lane
  for (auto const& [row, number] : found) {
    size_t const lane =
        free[number].add(columns.start[row], add(columns.start[row], columns.dur[row]));
    if (lane == FreeLanes::kNone) continue;

    std::vector<Lane>& lanes = result[number].lanes;
    lanes.resize(std::max(lanes.size(), lane + 1));
    busy[number].resize(lanes.size());
    append(lanes[lane], columns, row, busy[number][lane]);
  }
  return result;
}

CommunicatorMembers::CommunicatorMembers(analyzer::Analysis const& analysis) {
  for (analyzer::CollectiveStats const& collective : analysis.collectives)
    for (auto const& participant : collective.participants)
      if (participant.ref.rank_index >= 0)
        members_[collective.communicator].insert(participant.ref);
}

std::string CommunicatorMembers::label(model::Run const& run, Communicator const& of) const {
  constexpr size_t kMostNamed = 8;
  auto const known = members_.find(of.id);
  if (known == members_.end() || known->second.size() < 2)
    return of.participants == 0 ? "Unknown ranks"
                                : "Of " + base::format_count(of.participants, "rank");

  std::set<analyzer::DeviceRef> const& members = known->second;
  bool const is_one_process = members.begin()->rank_index == members.rbegin()->rank_index;
  std::set<int32_t> numbers;
  for (analyzer::DeviceRef const ref : members)
    numbers.insert(is_one_process
                       ? ref.device
                       : run.ranks[static_cast<size_t>(ref.rank_index)].trace.info().rank);

  std::string const what = is_one_process ? "Devices " : "Ranks ";
  bool const is_range = numbers.size() > 2 && *numbers.rbegin() - *numbers.begin() + 1 ==
                                                  static_cast<int64_t>(numbers.size());
  if (is_range) return fmt::format("{}{}–{}", what, *numbers.begin(), *numbers.rbegin());

  std::string text = what;
  size_t named = 0;
  for (int32_t const number : numbers) {
    if (named == kMostNamed) return text + ", …";
    text += fmt::format("{}{}", named++ > 0 ? ", " : "", number);
  }
  return text;
}

}  // namespace stepscope::viewer
