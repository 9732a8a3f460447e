#include "trace/import/open/clock_alignment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <tbb/parallel_for.h>

#include "trace/base/huge_pages.h"
#include "trace/import/common/coarse_times.h"
#include "trace/import/open/clock_fit.h"
#include "trace/import/open/device_collectives.h"
#include "trace/model/derive/clock_drift.h"
#include "trace/model/derive/collective_match.h"

namespace stepscope::import {
namespace {

/// Offsets by the epoch times at which the traces began; 0 for those that do not say.
void align_by_epoch(RunSources& run) {
  int64_t earliest = INT64_MAX;
  for (RankSource const& rank : run.ranks)
    if (model::has_origin(rank.source.info()))
      earliest = std::min(earliest, rank.source.info().origin_epoch_ns);
  for (RankSource& rank : run.ranks)
    if (model::has_origin(rank.source.info()))
      rank.offset_ns = rank.source.info().origin_epoch_ns - earliest;
  run.clock.method = "epoch";
}

std::vector<uint32_t> clocks_of(RunSources const& run) {
  std::vector<model::TraceInfo const*> processes;
  for (RankSource const& rank : run.ranks) processes.push_back(&rank.source.info());
  return model::clocks_of(processes);
}

std::vector<int64_t> indices_of_steps(TraceSource const& source) {
  std::vector<int64_t> indices;
  if (auto const steps = source.steps())
    for (file::StepSpan const& step : *steps) indices.push_back(step.index);
  return indices;
}

/// The collectives of all devices of the run, by the ranks' clocks as they are aligned so far.
struct RunCollectives {
  std::vector<std::vector<model::RecordedCollective>> devices;
  std::vector<model::DeviceRecording> recordings;  ///< by device
  std::vector<uint32_t> ranks;                     ///< by device
};

/// Processes that cannot be read have no collectives; opening them reports why.
RunCollectives read_all(RunSources const& run, std::vector<uint32_t> const& clocks,
                        ForEachRank const& for_each_rank) {
  std::vector<std::vector<std::vector<model::RecordedCollective>>> of_ranks(run.ranks.size());
  std::vector<model::DeviceRecording> recordings(run.ranks.size());

  auto const read_one = [&](size_t r) {
    if (has_coarse_times(run.ranks[r].source.info())) return;
    auto of_rank = read_collectives(run.ranks[r].source);
    if (!of_rank) return;
    for (auto& device : *of_rank)
      for (model::RecordedCollective& collective : device)
        collective.end_ns += run.ranks[r].offset_ns;
    of_ranks[r] = std::move(*of_rank);
    recordings[r].clock = clocks[r];
    if (!of_ranks[r].empty()) recordings[r].set_steps(indices_of_steps(run.ranks[r].source));
  };
  if (for_each_rank)
    for_each_rank(run.ranks, read_one);
  else
    tbb::parallel_for(size_t{0}, of_ranks.size(), read_one);

  RunCollectives all;
  std::vector<model::RecordedSpan> spans;
  for (uint32_t r = 0; r < of_ranks.size(); ++r) {
    model::Interval const when = run.ranks[r].source.time_range();
    int64_t const offset = run.ranks[r].offset_ns;

    int32_t number = 0;
    for (auto& device : of_ranks[r]) {
      all.devices.push_back(std::move(device));
      all.recordings.push_back(recordings[r]);
      all.ranks.push_back(r);
      spans.push_back(
          {{when.begin + offset, when.end + offset}, run.ranks[r].source.info().rank, number++});
    }
  }
  model::set_windows(all.recordings, spans);
  return all;
}

/// The ends of all collectives, grouped by collective. `unsure` receives the processes with
/// collectives that cannot be matched with certainty.
std::vector<CollectiveEnd> ends_of(RunSources const& run, std::vector<uint32_t> const& clocks,
                                   ForEachRank const& for_each_rank, std::set<uint32_t>& unsure) {
  RunCollectives const all = read_all(run, clocks, for_each_rank);
  auto const matches = model::match_collectives(all.devices, all.recordings);

  // Counting sort: the place of a collective is where its next end goes.
  std::vector<uint32_t> places;
  for (model::CollectiveMatch const& match : matches)
    if (match.collective >= places.size()) places.resize(size_t{match.collective} + 1);

  auto const for_each_end = [&](auto const& handle) {
    size_t at = 0;
    for (size_t d = 0; d < all.devices.size(); ++d)
      for (model::RecordedCollective const& each : all.devices[d]) {
        model::CollectiveMatch const& match = matches[at++];
        if (match.is_unsure) unsure.insert(all.ranks[d]);
        if (each.end_ns > -kMostInstant && each.end_ns < kMostInstant)
          handle(CollectiveEnd{match.collective, clocks[all.ranks[d]], each.end_ns});
      }
  };

  uint32_t count = 0;
  for_each_end([&](CollectiveEnd const& end) {
    ++places[end.collective];
    ++count;
  });
  std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});

  std::vector<CollectiveEnd> ends;
  base::reserve_long(ends, count);
  ends.resize(count);
  for_each_end([&](CollectiveEnd const& end) { ends[places[end.collective]++] = end; });
  return ends;
}

void apply(ClockCorrection const& correction, RankSource& rank) {
  model::ClockDrift drift = correction.drift;
  drift.pivot_ns -= rank.offset_ns;  // of the rank's own time
  if (!drift.is_none()) rank.source.correct_drift(drift);
  rank.drift = drift.rate;
  rank.offset_ns += correction.offset_ns;
}

void fit_to_collectives(RunSources& run, std::vector<uint32_t> const& clocks,
                        ForEachRank const& for_each_rank, std::vector<bool>& is_comparable) {
  uint32_t const count = *std::max_element(clocks.begin(), clocks.end()) + 1;
  std::set<uint32_t> unsure;
  auto const ends = ends_of(run, clocks, for_each_rank, unsure);
  for (uint32_t const r : unsure)
    run.notes.push_back(fmt::format(
        "{}: has more or fewer collectives without sequence numbers than other processes, and "
        "clocks too different to match them. Stepscope does not compare them: record all processes "
        "in the same steps",
        run.ranks[r].file));

  auto const by_epoch = residuals(std::vector<ClockCorrection>(count), ends);
  if (!by_epoch) return;
  auto const corrections = fit_clocks(count, ends);
  auto const fitted = residuals(corrections, ends);

  // Wrongly matched collectives do not end together, however the clocks are set.
  bool const is_better =
      fitted->median_ns < by_epoch->median_ns || fitted->p95_ns < by_epoch->p95_ns;
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
      run.notes.push_back(fmt::format(
          "{}: shares no collective with the other processes; its clock is taken as it is",
          run.ranks[r].file));
    is_comparable[r] = is_comparable[r] || (correction.is_fitted && correction.group == 0);
  }

  // Other windows of the same ranks share no collective.
  auto const is_window = [&](std::set<int32_t> const& ranks) {
    return std::includes(groups[0].begin(), groups[0].end(), ranks.begin(), ranks.end());
  };
  for (auto const& [group, ranks] : groups)
    if (group > 0 && !is_window(ranks))
      run.notes.push_back(fmt::format(
          "ranks {} share no collective with rank {}; between them clocks are taken as they are",
          fmt::join(ranks, ", "), *groups[0].begin()));
}

/// Makes run time begin with the first of the traces.
void begin_at_zero(RunSources& run) {
  auto const first = std::min_element(
      run.ranks.begin(), run.ranks.end(),
      [](RankSource const& a, RankSource const& b) { return a.offset_ns < b.offset_ns; });
  int64_t const earliest = first->offset_ns;
  for (RankSource& rank : run.ranks) rank.offset_ns -= earliest;
}

}  // namespace

void align_clocks(RunSources& run, ForEachRank const& for_each_rank) {
  if (run.ranks.size() < 2) return;
  align_by_epoch(run);
  auto const clocks = clocks_of(run);

  // Times since boot compare with those of the same host.
  std::vector<bool> is_comparable;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    model::TraceInfo const& info = run.ranks[r].source.info();
    is_comparable.push_back(model::has_origin(info) ||
                            (clocks[r] == 0 && model::has_boot_clock(info)));
  }

  if (std::any_of(clocks.begin(), clocks.end(), [](uint32_t clock) { return clock > 0; })) {
    fit_to_collectives(run, clocks, for_each_rank, is_comparable);
    begin_at_zero(run);
  }

  for (size_t r = 0; r < run.ranks.size(); ++r) {
    if (is_comparable[r]) continue;
    run.notes.push_back(fmt::format(
        "{}: does not say when it began; its times cannot be compared with other processes'",
        run.ranks[r].file));
  }
}

}  // namespace stepscope::import
