#include "analyzer/facts/quality.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace stepscope::analyzer {
namespace {

int32_t penalty(uint64_t faults, uint64_t events) {
  if (faults == 0) return 0;
  double const share = static_cast<double>(faults) / static_cast<double>(std::max<uint64_t>(events, 1));
  return static_cast<int32_t>(std::clamp(std::ceil(share * 100), 1.0, static_cast<double>(kMaxPenalty)));
}

std::vector<int32_t> missing_ranks(model::Run const& run) {
  std::set<int32_t> present;
  int32_t world = 0;
  for (model::RankTrace const& rank : run.ranks) {
    present.insert(rank.trace.info().rank);
    world = std::max(world, rank.trace.info().world_size);
  }
  std::vector<int32_t> missing;
  // A damaged world size must not make a list of billions.
  constexpr int32_t kMostListed = 1024;
  for (int32_t r = 0; r < world && missing.size() < kMostListed; ++r)
    if (!present.contains(r)) missing.push_back(r);
  return missing;
}

}  // namespace

Quality judge_quality(model::Run const& run) {
  Quality quality;
  quality.notes = run.notes;
  uint64_t events = 0, unmatched_ops = 0, other = 0;
  for (model::RankTrace const& rank : run.ranks) {
    model::ImportLog const& log = rank.trace.log();
    events += rank.trace.event_count();
    quality.dropped += log.dropped;
    quality.unmatched_launches += log.unmatched_launches;
    quality.negative_latencies += log.negative_latencies;
    quality.overlapping_slices += log.overlapping_slices;
    quality.lost_blocks += log.lost_blocks;
    quality.truncated = quality.truncated || log.truncated;
    unmatched_ops += log.unmatched_ops;
    other += log.negative_durations;
    quality.notes.insert(quality.notes.end(), log.notes.begin(), log.notes.end());
  }
  quality.missing_ranks = missing_ranks(run);
  int32_t lost = penalty(quality.dropped, events + quality.dropped) + penalty(quality.unmatched_launches, events) +
                 penalty(quality.negative_latencies, events) + penalty(quality.overlapping_slices, events) +
                 penalty(unmatched_ops, events) + penalty(other, events);
  // How much was in a lost block is not known.
  if (quality.lost_blocks > 0) lost += kMissingRanksPenalty;
  if (quality.truncated) lost += kTruncatedPenalty;
  if (!quality.missing_ranks.empty()) lost += kMissingRanksPenalty;
  quality.score = std::max(0, 100 - lost);
  return quality;
}

}  // namespace stepscope::analyzer
