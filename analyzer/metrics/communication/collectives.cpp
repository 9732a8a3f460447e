#include "analyzer/metrics/communication/collectives.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include <tbb/parallel_for.h>

#include "trace/model/derive/clock_drift.h"
#include "trace/model/derive/collective_match.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveOp;

/// A collective of a device. There are millions: what the trace has of it is read there.
struct Entry {
  uint32_t device = 0;  ///< place among the devices
  uint32_t row = 0;
};
struct MatchedEntries {
  std::vector<Entry> entries;                   ///< by device, then in the order of its ops
  std::vector<model::CollectiveMatch> matches;  ///< beside `entries`
};

/// The clock, steps and window of each device's process.
std::vector<model::DeviceRecording> recordings_of(std::vector<DeviceOps> const& devices) {
  std::vector<model::TraceInfo const*> processes;
  for (DeviceOps const& device : devices) processes.push_back(&device.trace().info());
  std::vector<uint32_t> const clocks = model::clocks_of(processes);

  std::vector<model::DeviceRecording> recordings(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    std::vector<int64_t> steps;
    for (model::StepDetail const& step : devices[d].trace().details<model::StepDetail>())
      steps.push_back(step.index);
    recordings[d].clock = clocks[d];
    recordings[d].set_steps(std::move(steps));
  }

  std::vector<model::RecordedSpan> spans;
  for (DeviceOps const& device : devices) {
    auto const [first, last] = device.trace().time_range();
    int64_t const offset = device.rank->offset_ns;
    spans.push_back(
        {{first + offset, last + offset}, device.trace().info().rank, device.ref.device});
  }
  model::set_windows(recordings, spans);
  return recordings;
}

MatchedEntries collect(std::vector<DeviceOps> const& devices) {
  std::vector<std::vector<uint32_t>> rows(devices.size());
  tbb::parallel_for(size_t{0}, devices.size(),
                    [&](size_t d) { rows[d] = collective_rows(devices[d]); });
  std::vector<size_t> firsts = {0};
  for (auto const& of_device : rows) firsts.push_back(firsts.back() + of_device.size());

  MatchedEntries all;
  all.entries.resize(firsts.back());
  std::vector<model::DeviceCollective> collectives(firsts.back());
  tbb::parallel_for(size_t{0}, devices.size(), [&](size_t d) {
    DeviceOps const& device = devices[d];
    for (size_t i = 0; i < rows[d].size(); ++i) {
      uint32_t const row = rows[d][i];
      auto const* const detail = &device.trace().detail<model::CollectiveDetail>(row);
      all.entries[firsts[d] + i] = {static_cast<uint32_t>(d), row};
      collectives[firsts[d] + i] = {static_cast<uint32_t>(d), detail, device.end(row)};
    }
  });

  all.matches = model::match_collectives(collectives, recordings_of(devices));
  return all;
}

void fill_times(CollectiveStats& facts) {
  int64_t first_start = std::numeric_limits<int64_t>::max();
  int64_t last_start = std::numeric_limits<int64_t>::min();
  facts.transfer_ns = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < facts.participants.size(); ++i) {
    Interval const when = facts.participants[i].when;
    facts.transfer_ns = std::min(facts.transfer_ns, when.length());
    first_start = std::min(first_start, when.begin);
    if (when.begin > last_start) {
      last_start = when.begin;
      facts.last_participant = static_cast<int32_t>(i);
    }
  }

  facts.skew_ns = last_start - first_start;
  for (auto& participant : facts.participants)
    participant.wait_ns = participant.when.length() - facts.transfer_ns;
}

/// The ranks of the job by process of the run.
std::vector<int32_t> job_ranks_of(std::vector<DeviceOps> const& devices) {
  std::vector<int32_t> ranks;
  for (DeviceOps const& device : devices) {
    ranks.resize(std::max(ranks.size(), static_cast<size_t>(device.ref.rank_index) + 1), -1);
    ranks[static_cast<size_t>(device.ref.rank_index)] = device.trace().info().rank;
  }
  return ranks;
}

using RankedParticipants = std::vector<std::pair<int32_t, CollectiveStats::Participant>>;

/// Keeps one participant of a rank that two tools recorded, such as a profiler and NCCL's
/// inspector. The trace with the higher process id counts, as tools that know little write none.
/// Two entries with one number in the communicator are the same rank where they have one rank in
/// the job. Where there are more entries than participants, the number suffices. `by_rank`: by rank
/// in the communicator; `job_ranks`: by process.
void keep_one_recording(RankedParticipants& by_rank, uint32_t expected,
                        std::vector<int32_t> const& job_ranks) {
  bool const are_too_many = expected > 0 && by_rank.size() > expected;
  std::reverse(by_rank.begin(), by_rank.end());

  auto const job_rank = [&](auto const& participant) {
    return job_ranks[static_cast<size_t>(participant.second.ref.rank_index)];
  };
  auto const is_same = [&](auto const& a, auto const& b) {
    return a.first >= 0 && a.first == b.first &&
           a.second.ref.rank_index != b.second.ref.rank_index &&
           (are_too_many || job_rank(a) == job_rank(b));
  };

  by_rank.erase(std::unique(by_rank.begin(), by_rank.end(), is_same), by_rank.end());
  std::reverse(by_rank.begin(), by_rank.end());
}

/// `places`: of one collective's entries, in their order.
CollectiveStats make_facts(std::span<uint32_t const> places, MatchedEntries const& all,
                           std::vector<DeviceOps> const& devices,
                           std::vector<int32_t> const& job_ranks) {
  auto const detail_of = [&](Entry const& entry) -> model::CollectiveDetail const& {
    return devices[entry.device].trace().detail<model::CollectiveDetail>(entry.row);
  };
  model::CollectiveDetail const& first = detail_of(all.entries[places.front()]);
  CollectiveStats facts;
  facts.communicator = first.communicator;
  facts.sequence = all.matches[places.front()].number;
  facts.op = first.op;

  RankedParticipants by_rank;
  by_rank.reserve(places.size());
  for (uint32_t const place : places) {
    Entry const& entry = all.entries[place];
    DeviceOps const& device = devices[entry.device];
    model::CollectiveDetail const& detail = detail_of(entry);
    facts.bytes = std::max(facts.bytes, detail.bytes);
    facts.expected_participants = std::max(facts.expected_participants, detail.participants);
    by_rank.push_back({detail.rank,
                       {device.ref, entry.row, device.when(entry.row), 0, detail.op, 0, 0,
                        device.trace().columns().track[entry.row], detail.rank}});
  }

  if (model::is_point_to_point(facts.op)) facts.expected_participants = 2;
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [](auto const& a, auto const& b) { return a.first < b.first; });
  keep_one_recording(by_rank, facts.expected_participants, job_ranks);

  facts.participants.reserve(by_rank.size());
  for (auto const& [rank, participant] : by_rank) facts.participants.push_back(participant);
  fill_times(facts);

  bool const complete =
      facts.expected_participants > 0 && facts.participants.size() == facts.expected_participants;
  if (complete && facts.bytes > 0 && facts.transfer_ns > 0)
    facts.busbw_gbps = static_cast<double>(facts.bytes) / static_cast<double>(facts.transfer_ns) *
                       bus_factor(facts.op, facts.expected_participants);
  return facts;
}

int64_t first_start(CollectiveStats const& facts) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (auto const& participant : facts.participants)
    first = std::min(first, participant.when.begin);
  return first;
}

size_t place_of(DeviceRef ref, std::vector<DeviceOps> const& devices) {
  auto const at = std::lower_bound(devices.begin(), devices.end(), ref,
                                   [](DeviceOps const& d, DeviceRef r) { return d.ref < r; });
  return static_cast<size_t>(at - devices.begin());
}

}  // namespace

std::vector<uint32_t> collective_rows(DeviceOps const& device) {
  std::vector<uint32_t> rows;
  std::copy_if(device.ops.begin(), device.ops.end(), std::back_inserter(rows), [&](uint32_t row) {
    return device.trace().kind(row) == model::EventKind::kCollective;
  });
  return rows;
}

std::vector<std::pair<uint32_t, uint32_t>> rows_in_whole(DeviceOps const& skeleton,
                                                         DeviceOps const& whole) {
  std::vector<uint32_t> const of_skeleton = collective_rows(skeleton),
                              of_whole = collective_rows(whole);
  if (of_skeleton.size() != of_whole.size()) return {};
  std::vector<std::pair<uint32_t, uint32_t>> rows;
  rows.reserve(of_skeleton.size());
  for (size_t i = 0; i < of_skeleton.size(); ++i) rows.emplace_back(of_skeleton[i], of_whole[i]);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<CollectiveStats> match_collectives(std::vector<DeviceOps> const& devices) {
  std::vector<int32_t> const job_ranks = job_ranks_of(devices);
  MatchedEntries const all = collect(devices);

  // Collectives are numbered from 0 on. `begins`: where the entries of each begin among the sorted
  // places.
  uint32_t count = 0;
  for (model::CollectiveMatch const& match : all.matches)
    count = std::max(count, match.collective + 1);
  std::vector<uint32_t> begins(size_t{count} + 1), places(all.matches.size());
  for (model::CollectiveMatch const& match : all.matches) ++begins[match.collective];
  std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), 0U);
  std::vector<uint32_t> next = begins;
  for (uint32_t place = 0; place < places.size(); ++place)
    places[next[all.matches[place].collective]++] = place;

  std::vector<CollectiveStats> made(count);
  std::vector<std::pair<int64_t, uint32_t>> order(count);  // by first start, then by number
  tbb::parallel_for(0U, count, [&](uint32_t number) {
    order[number].second = count;
    if (begins[number] == begins[number + 1]) return;  // a number that was given up
    made[number] =
        make_facts(std::span(places).subspan(begins[number], begins[number + 1] - begins[number]),
                   all, devices, job_ranks);
    order[number] = {first_start(made[number]), number};
  });

  std::erase_if(order, [&](auto const& place) { return place.second == count; });
  std::sort(order.begin(), order.end());
  std::vector<CollectiveStats> result;
  result.reserve(order.size());
  for (auto const& [start, number] : order) result.push_back(std::move(made[number]));
  return result;
}

std::vector<std::vector<PeerLaunch>> peer_launches(std::vector<CollectiveStats> const& collectives,
                                                   std::vector<DeviceOps> const& devices) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  std::vector<std::vector<PeerLaunch>> result(devices.size());
  for (CollectiveStats const& facts : collectives) {
    int64_t last = kNever, second = kNever;  // the last launch of all, and the last but that one
    size_t last_participant = 0;
    std::vector<size_t> places;
    for (size_t i = 0; i < facts.participants.size(); ++i) {
      auto const& participant = facts.participants[i];
      places.push_back(place_of(participant.ref, devices));
      DeviceOps const& device = devices[places.back()];
      auto const launch = device.launch_of(participant.row);
      int64_t const end = launch ? device.end(*launch) : kNever;
      second = std::max(second, std::min(end, last));
      if (end > last) last_participant = i;
      last = std::max(last, end);
    }

    for (size_t i = 0; i < places.size(); ++i) {
      int64_t const of_peers = i == last_participant ? second : last;
      if (of_peers != kNever) result[places[i]].push_back({facts.participants[i].row, of_peers});
    }
  }

  tbb::parallel_for(size_t{0}, result.size(), [&](size_t d) {
    std::sort(result[d].begin(), result[d].end(),
              [](PeerLaunch const& a, PeerLaunch const& b) { return a.row < b.row; });
  });
  return result;
}

std::vector<model::IntervalSet> wait_times(std::vector<CollectiveStats> const& collectives,
                                           std::vector<DeviceOps> const& devices) {
  std::vector<std::vector<Interval>> waits(devices.size());
  for (CollectiveStats const& facts : collectives)
    for (auto const& participant : facts.participants)
      waits[place_of(participant.ref, devices)].push_back(
          {participant.when.begin, participant.when.begin + participant.wait_ns});

  std::vector<model::IntervalSet> result(waits.size());
  tbb::parallel_for(size_t{0}, waits.size(),
                    [&](size_t d) { result[d] = model::unite(std::move(waits[d])); });
  return result;
}

}  // namespace stepscope::analyzer
