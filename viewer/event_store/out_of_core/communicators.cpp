#include "viewer/event_store/out_of_core/communicators.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <tbb/parallel_for.h>

namespace stepscope::viewer {
namespace {

using Numbers = std::unordered_map<uint64_t, uint32_t>;  ///< of a device: communicator → its place

/// Finds where an event belongs without a look into the maps as long as it is where the one before
/// it was.
struct Place {
  analyzer::DeviceRef ref;
  std::vector<OutOfCoreCommunicator>* all = nullptr;
  Numbers* numbers = nullptr;
};

/// Without labels, and without what only rows need.
std::map<analyzer::DeviceRef, Numbers> find_communicators(
    model::Run const& run, analyzer::Analysis const& analysis,
    std::span<Scene::Participation const> sorted, OutOfCoreCommunicators& result) {
  std::map<analyzer::DeviceRef, Numbers> numbers;
  Place at;

  for (Scene::Participation const& each : sorted) {
    analyzer::CollectiveStats const& facts = analysis.collectives[each.collective];
    if (facts.communicator == 0) continue;

    analyzer::DeviceRef const ref{static_cast<int32_t>(each.rank),
                                  run.ranks[each.rank].trace.tracks()[each.track].device};
    if (at.all == nullptr || !(at.ref == ref)) at = {ref, &result[ref], &numbers[ref]};
    auto const number =
        at.numbers->try_emplace(facts.communicator, static_cast<uint32_t>(at.all->size()))
            .first->second;
    if (number == at.all->size()) {
      at.all->emplace_back();
      at.all->back().of.id = facts.communicator;
    }

    Communicator& of = (*at.all)[number].of;
    // A message has two, whatever the communicator has.
    if (of.participants == 0 && !model::is_point_to_point(facts.op))
      of.participants = facts.expected_participants;
    if (of.tracks == 0 || of.last_track != each.track) ++of.tracks;
    of.last_track = each.track;
  }
  return numbers;
}

/// The collectives of one row.
struct RowCollectives {
  OutOfCoreCommunicator* into = nullptr;
  std::vector<std::pair<int64_t, int64_t>> times;  ///< begin and duration, trace time
};

/// One row a communicator, for the devices that need rows.
std::vector<RowCollectives> events_of_rows(model::Run const& run,
                                           analyzer::Analysis const& analysis,
                                           std::map<analyzer::DeviceRef, Numbers> const& numbers,
                                           OutOfCoreCommunicators& result) {
  std::vector<RowCollectives> rows;
  std::map<analyzer::DeviceRef, size_t> first_row;
  for (auto& [ref, all] : result) {
    if (streams_tell_apart(all)) continue;
    first_row.emplace(ref, rows.size());
    for (OutOfCoreCommunicator& each : all) rows.push_back({&each, {}});
  }
  if (rows.empty()) return rows;

  for (analyzer::CollectiveStats const& facts : analysis.collectives) {
    if (facts.communicator == 0) continue;
    for (auto const& participant : facts.participants) {
      auto const first = first_row.find(participant.ref);
      if (first == first_row.end()) continue;
      int64_t const offset = run.ranks[static_cast<size_t>(participant.ref.rank_index)].offset_ns;
      auto const number = numbers.at(participant.ref).at(facts.communicator);
      rows[first->second + number].times.emplace_back(add(participant.when.begin, add(~offset, 1)),
                                                      participant.when.length());
    }
  }
  return rows;
}

void summarize_row(RowCollectives& row) {
  std::sort(row.times.begin(), row.times.end(), [](auto const& a, auto const& b) {
    return std::tuple(a.first, b.second) < std::tuple(b.first, a.second);
  });

  std::vector<int64_t> start, dur;
  std::vector<uint16_t> depth;
  FreeLanes lanes;
  for (auto const& [begin, length] : row.times) {
    size_t const lane = lanes.add(begin, add(begin, length));
    if (lane == FreeLanes::kNone) continue;
    start.push_back(begin);
    dur.push_back(length);
    depth.push_back(static_cast<uint16_t>(lane));
  }

  std::vector<model::StringId> const names(start.size(), model::StringId{0});
  std::vector<model::EventKind> const kinds(start.size(), model::EventKind::kCollective);
  model::EventView events;
  events.start = start;
  events.dur = dur;
  events.name = names;
  events.kind = kinds;

  OutOfCoreCommunicator& into = *row.into;
  into.lane_count = static_cast<uint32_t>(lanes.count());
  into.summary = model::summarize(events, depth);
  model::TrackSummary const* const summary = &into.summary;
  into.grid = DensityGrid(std::span(&summary, 1));
}

}  // namespace

OutOfCoreCommunicators find_out_of_core_communicators(
    model::Run const& run, analyzer::Analysis const& analysis,
    std::span<Scene::Participation const> sorted) {
  OutOfCoreCommunicators result;
  auto const numbers = find_communicators(run, analysis, sorted, result);
  CommunicatorMembers const members(analysis);
  for (auto& [ref, all] : result)
    for (OutOfCoreCommunicator& each : all) each.label = members.label(run, each.of);

  auto rows = events_of_rows(run, analysis, numbers, result);
  tbb::parallel_for(size_t{0}, rows.size(), [&](size_t i) { summarize_row(rows[i]); });
  return result;
}

}  // namespace stepscope::viewer
