#include "analyzer/metrics/telemetry/trace_integrity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/model/derive/shared_notes.h"

namespace stepscope::analyzer {
namespace {

int32_t penalty(uint64_t faults, uint64_t events) {
  if (faults == 0) return 0;
  double const share =
      static_cast<double>(faults) / static_cast<double>(std::max<uint64_t>(events, 1));
  return static_cast<int32_t>(
      std::clamp(std::ceil(share * 100), 1.0, static_cast<double>(kMaxPenalty)));
}

/// No job has more: larger numbers come from damaged traces.
constexpr uint32_t kMostRanks = 1 << 24;

/// Participants of the largest collective of a process; 0 when none is recorded. Messages always
/// have two.
uint32_t participants_of(model::Trace const& trace) {
  uint32_t most = 0;
  for (model::CollectiveDetail const& detail : trace.details<model::CollectiveDetail>())
    if (!model::is_point_to_point(detail.op) && detail.participants <= kMostRanks)
      most = std::max(most, detail.participants);
  return most;
}

/// Whether it takes part in collectives once a device, or as several members of one communicator.
bool is_several_participants(model::Trace const& trace) {
  std::set<int32_t> devices;
  for (model::Track const& track : trace.tracks())
    if (track.kind == model::TrackKind::kStream) devices.insert(track.device);
  if (devices.size() > 1) return true;

  std::map<uint64_t, int32_t> members;
  for (model::CollectiveDetail const& detail : trace.details<model::CollectiveDetail>()) {
    if (detail.communicator == 0 || detail.rank < 0 || model::is_point_to_point(detail.op))
      continue;
    if (members.try_emplace(detail.communicator, detail.rank).first->second != detail.rank)
      return true;
  }
  return false;
}

std::vector<int32_t> missing_ranks(model::Run const& run) {
  std::set<int32_t> present;
  for (model::RankTrace const& rank : run.ranks) present.insert(rank.trace.info().rank);
  int32_t const ranks = job_size(run).ranks;
  std::vector<int32_t> missing;
  // A damaged world size must not make a list of billions.
  constexpr int32_t kMostListed = 1024;
  for (int32_t r = 0; r < ranks && missing.size() < kMostListed; ++r)
    if (!present.contains(r)) missing.push_back(r);
  return missing;
}

}  // namespace

JobSize job_size(model::Run const& run) {
  using Source = JobSize::Source;
  JobSize size;
  auto const at_least = [&](int32_t ranks, Source source) {
    if (ranks > size.ranks) size = {ranks, source};
  };
  for (model::RankTrace const& rank : run.ranks)
    at_least(rank.trace.info().world_size, Source::kWorldSize);

  bool const are_devices =
      std::any_of(run.ranks.begin(), run.ranks.end(),
                  [](model::RankTrace const& rank) { return is_several_participants(rank.trace); });
  for (model::RankTrace const& rank : run.ranks)
    if (!are_devices)
      at_least(static_cast<int32_t>(participants_of(rank.trace)), Source::kCollectives);
  for (model::RankTrace const& rank : run.ranks)
    if (rank.trace.info().rank < static_cast<int32_t>(kMostRanks))
      at_least(rank.trace.info().rank + 1, Source::kHighestRank);
  return size;
}

namespace {

/// The notes of the run, then of its processes; of several processes each with its ranks.
std::vector<std::string> notes_of(model::Run const& run) {
  std::vector<std::string> notes = run.notes;
  std::vector<model::ProcessNotes> processes;
  for (model::RankTrace const& rank : run.ranks)
    processes.push_back({rank.trace.info().rank, &rank.trace.log().notes});
  for (model::SharedNote const& note : model::share_notes(processes))
    notes.push_back(run.ranks.size() > 1
                        ? fmt::format("{}: {}", model::rank_list(note.ranks), note.text)
                        : note.text);
  return notes;
}

}  // namespace

TraceIntegrity judge_trace_integrity(model::Run const& run) {
  TraceIntegrity integrity;
  integrity.notes = notes_of(run);
  uint64_t events = 0, backwards = 0, doubled = 0;
  for (model::RankTrace const& rank : run.ranks) {
    model::ImportLog const& log = rank.trace.log();
    events += rank.trace.whole_event_count();
    integrity.dropped += log.dropped;
    integrity.unmatched_launches += log.unmatched_launches;
    integrity.negative_latencies += log.negative_latencies;
    integrity.overlapping_slices += log.overlapping_slices;
    integrity.lost_blocks += log.lost_blocks;
    integrity.truncated = integrity.truncated || log.truncated;
    integrity.unmatched_ops += log.unmatched_ops;
    backwards += log.negative_durations;
    doubled += log.doubled_launches;
  }

  // Faults without a count of their own.
  if (backwards > 0)
    integrity.notes.push_back(base::count_sentence(
        backwards, "events have an end before their begin: each is taken as an instant"));
  if (doubled > 0)
    integrity.notes.push_back(
        base::count_sentence(doubled, "launches have the correlation of another one"));

  integrity.missing_ranks = missing_ranks(run);
  int32_t lost = penalty(integrity.dropped, events + integrity.dropped) +
                 penalty(integrity.unmatched_launches, events) +
                 penalty(integrity.negative_latencies, events) +
                 penalty(integrity.overlapping_slices, events) +
                 penalty(integrity.unmatched_ops, events) + penalty(backwards + doubled, events);

  // A lost block held an unknown number of events.
  if (integrity.lost_blocks > 0) lost += kMissingRanksPenalty;
  if (integrity.truncated) lost += kTruncatedPenalty;
  if (!integrity.missing_ranks.empty()) lost += kMissingRanksPenalty;

  bool const is_empty = events == 0 && !run.ranks.empty();
  integrity.score = is_empty ? 0 : std::max(0, 100 - lost);
  return integrity;
}

}  // namespace stepscope::analyzer
