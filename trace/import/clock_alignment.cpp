#include "trace/import/clock_alignment.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <tbb/parallel_for.h>

#include "trace/import/clock_fit.h"
#include "trace/import/coarse_times.h"
#include "trace/model/clock_drift.h"
#include "trace/model/collective_match.h"

namespace stepscope::import {
namespace {

/// Offsets by the epoch times at which the traces began; 0 for those that do not say.
void align_by_epoch(RunSources& run) {
  int64_t earliest = INT64_MAX;
  for (RankSource const& rank : run.ranks)
    if (model::has_origin(rank.source.info())) earliest = std::min(earliest, rank.source.info().origin_epoch_ns);
  for (RankSource& rank : run.ranks)
    if (model::has_origin(rank.source.info())) rank.offset_ns = rank.source.info().origin_epoch_ns - earliest;
  run.clock.method = "epoch";
}

std::vector<uint32_t> clocks_of(RunSources const& run) {
  std::vector<model::TraceInfo const*> processes;
  for (RankSource const& rank : run.ranks) processes.push_back(&rank.source.info());
  return model::clocks_of(processes);
}

/// A device's collectives in the order in which they began.
struct DeviceCollectives {
  uint32_t rank = 0;
  std::vector<int64_t> ends;  ///< trace time
  std::vector<model::CollectiveDetail> details;
};

/// What has to be read to see a process's collectives.
file::Selection selection_of(TraceSource const& source) {
  auto const kinds = source.kinds();
  auto const has = [](uint64_t of_track, model::EventKind kind) { return (of_track & file::kind_bit(kind)) != 0; };
  // Which kernels carry collectives is known when the calls are read, too (collective_merge.h).
  bool const is_merged = std::none_of(kinds.begin(), kinds.end(),
                                      [&](uint64_t of_track) { return has(of_track, model::EventKind::kCollectiveCall); });
  if (!is_merged) return {.columns = {.depth = false}};
  file::Selection selection{.tracks = std::vector<model::TrackId>{}};
  for (uint32_t track = 0; track < kinds.size(); ++track)
    if (has(kinds[track], model::EventKind::kCollective)) selection.tracks->push_back(model::TrackId{track});
  selection.columns = {.name = false,
                       .correlation = false,
                       .depth = false,
                       .tables = uint32_t{1} << static_cast<unsigned>(model::DetailTable::kCollectives)};
  return selection;
}

/// By device. Errors: those of TraceSource::read().
base::Expected<std::vector<DeviceCollectives>> collectives_of(RankSource const& rank, uint32_t index) {
  auto const trace = rank.source.read(selection_of(rank.source));
  if (!trace) return base::fail_with(trace);
  std::map<int32_t, std::vector<uint32_t>> rows_of;
  for (uint32_t row = 0; row < (*trace)->event_count(); ++row)
    if ((*trace)->kind(row) == model::EventKind::kCollective) rows_of[(*trace)->track(row).device].push_back(row);
  std::vector<DeviceCollectives> devices;
  for (auto& [device, rows] : rows_of) {
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return (*trace)->start(a) < (*trace)->start(b); });
    DeviceCollectives& collectives = devices.emplace_back();
    collectives.rank = index;
    for (uint32_t const row : rows) {
      collectives.ends.push_back((*trace)->end(row));
      collectives.details.push_back((*trace)->detail<model::CollectiveDetail>(row));
    }
  }
  return devices;
}

std::vector<int64_t> indices_of_steps(TraceSource const& source) {
  std::vector<int64_t> indices;
  if (auto const steps = source.steps())
    for (file::StepSpan const& step : *steps) indices.push_back(step.index);
  return indices;
}

/// The ends of all collectives by the ranks' clocks as they are aligned so far, those of one collective beside each other.
/// Processes that cannot be read have none; opening them says why. `unsure`: gets processes with collectives of which it is not
/// known which of others they are.
std::vector<CollectiveEnd> ends_of(RunSources const& run, std::vector<uint32_t> const& clocks, std::set<uint32_t>& unsure) {
  std::vector<std::vector<DeviceCollectives>> of_ranks(run.ranks.size());
  tbb::parallel_for(size_t{0}, of_ranks.size(), [&](size_t r) {
    if (has_coarse_times(run.ranks[r].source.info())) return;
    if (auto of_rank = collectives_of(run.ranks[r], static_cast<uint32_t>(r))) of_ranks[r] = std::move(*of_rank);
  });
  std::vector<DeviceCollectives> devices;
  for (auto& of_rank : of_ranks) std::move(of_rank.begin(), of_rank.end(), std::back_inserter(devices));
  std::vector<model::DeviceCollective> collectives;
  std::vector<model::DeviceRecording> recordings(devices.size());
  for (uint32_t d = 0; d < devices.size(); ++d) {
    RankSource const& rank = run.ranks[devices[d].rank];
    for (size_t i = 0; i < devices[d].ends.size(); ++i)
      collectives.push_back({d, &devices[d].details[i], devices[d].ends[i] + rank.offset_ns});
    recordings[d].clock = clocks[devices[d].rank];
    recordings[d].set_steps(indices_of_steps(rank.source));
  }
  auto const matches = model::match_collectives(collectives, recordings);
  std::vector<CollectiveEnd> ends;
  size_t at = 0;
  for (DeviceCollectives const& device : devices) {
    for (int64_t const end : device.ends) {
      int64_t const instant = end + run.ranks[device.rank].offset_ns;
      if (matches[at].is_unsure) unsure.insert(device.rank);
      if (instant > -kMostInstant && instant < kMostInstant)
        ends.push_back({matches[at].collective, clocks[device.rank], instant});
      ++at;
    }
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](CollectiveEnd const& a, CollectiveEnd const& b) { return a.collective < b.collective; });
  return ends;
}

void apply(ClockCorrection const& correction, RankSource& rank) {
  model::ClockDrift drift = correction.drift;
  drift.pivot_ns -= rank.offset_ns;  // of the rank's own time
  if (!drift.is_none()) rank.source.correct_drift(drift);
  rank.drift = drift.rate;
  rank.offset_ns += correction.offset_ns;
}

void fit_to_collectives(RunSources& run, std::vector<uint32_t> const& clocks, std::vector<bool>& is_comparable) {
  uint32_t const count = *std::max_element(clocks.begin(), clocks.end()) + 1;
  std::set<uint32_t> unsure;
  auto const ends = ends_of(run, clocks, unsure);
  for (uint32_t const r : unsure)
    run.notes.push_back(
        fmt::format("{}: has more or fewer collectives without sequence numbers than other processes, and clocks too different "
                    "to tell which are "
                    "one: these are not compared, record all processes in the same steps",
                    run.ranks[r].file));
  auto const by_epoch = residuals(std::vector<ClockCorrection>(count), ends);
  if (!by_epoch) return;
  auto const corrections = fit_clocks(count, ends);
  auto const fitted = residuals(corrections, ends);
  // Collectives that are matched wrongly do not end together however the clocks are set.
  bool const is_better = fitted->median_ns < by_epoch->median_ns || fitted->p95_ns < by_epoch->p95_ns;
  ClockResiduals const& kept = is_better ? *fitted : *by_epoch;
  run.clock.residual_median_ns = kept.median_ns;
  run.clock.residual_p95_ns = kept.p95_ns;
  run.clock.collectives = kept.collectives;
  run.clock.method = is_better ? "collective ends" : run.clock.method;
  std::map<uint32_t, std::set<int32_t>> groups;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    ClockCorrection const& correction = corrections[clocks[r]];
    if (is_better) apply(correction, run.ranks[r]);
    if (correction.is_fitted) groups[correction.group].insert(run.ranks[r].source.info().rank);
    if (!correction.is_fitted && is_comparable[r] && !has_coarse_times(run.ranks[r].source.info()))
      run.notes.push_back(
          fmt::format("{}: shares no collective with the other processes; its clock is taken as it is", run.ranks[r].file));
    is_comparable[r] = is_comparable[r] || (correction.is_fitted && correction.group == 0);
  }
  for (auto const& [group, ranks] : groups)
    if (group > 0)
      run.notes.push_back(fmt::format("ranks {} share no collective with rank {}; between them clocks are taken as they are",
                                      fmt::join(ranks, ", "), *groups[0].begin()));
}

/// So that run time begins with the first of the traces.
void begin_at_zero(RunSources& run) {
  auto const first = std::min_element(run.ranks.begin(), run.ranks.end(),
                                      [](RankSource const& a, RankSource const& b) { return a.offset_ns < b.offset_ns; });
  int64_t const earliest = first->offset_ns;
  for (RankSource& rank : run.ranks) rank.offset_ns -= earliest;
}

}  // namespace

void align_clocks(RunSources& run) {
  if (run.ranks.size() < 2) return;
  align_by_epoch(run);
  std::vector<bool> is_comparable;
  for (RankSource const& rank : run.ranks) is_comparable.push_back(model::has_origin(rank.source.info()));
  auto const clocks = clocks_of(run);
  if (std::any_of(clocks.begin(), clocks.end(), [](uint32_t clock) { return clock > 0; })) {
    fit_to_collectives(run, clocks, is_comparable);
    begin_at_zero(run);
  }
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    if (is_comparable[r]) continue;
    run.notes.push_back(
        fmt::format("{}: does not say when it began; its times cannot be compared with other processes'", run.ranks[r].file));
  }
}

}  // namespace stepscope::import
