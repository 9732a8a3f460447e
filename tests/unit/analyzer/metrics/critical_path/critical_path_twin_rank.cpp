#include "tests/unit/analyzer/metrics/critical_path/critical_path_twin_rank.h"

namespace stepscope::analyzer {

void TwinRank::connect(size_t i) {
  Op& op = ops[i];
  uint32_t const stream = track(op.row);
  for (size_t j = 0; j < i; ++j)
    if (track(ops[j].row) == stream) op.before = j;
  model::EventId const link = trace.columns().link[op.row];
  if (link.valid() && start(link.value) <= op.start) op.launch = link.value;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == model::EventKind::kStreamWait && track(row) == stream)
      add_source(i, row);
  if (op.before) take(op, std::min(ops[*op.before].end, op.start), op.before);
  std::sort(op.sources.begin(), op.sources.end());
  std::optional<size_t> best;
  for (size_t const source : op.sources)
    if (!best || ops[source].end >= ops[*best].end) best = source;
  if (best) take(op, ops[*best].end, best);
  if (op.launch) take(op, launched(op), std::nullopt);
  auto const device = trace.track(op.row).device;
  auto const guess =
      last_ended(op.start, [&](size_t u) { return trace.track(ops[u].row).device == device; });
  if (!guess || (op.ready && ops[*guess].end <= *op.ready)) return;
  if (op.ready && op.launch && op.start - *op.ready < limit(op)) return;
  op.ready = ops[*guess].end;
  op.waited_for = guess;
  op.is_guess = true;
  op.sources.push_back(*guess);
}

void TwinRank::add_ways_back(uint32_t thread, uint32_t home, std::vector<Exit>& all) const {
  std::vector<Interval> const own = busy(thread);
  for (size_t i = 0; i < own.size(); ++i) {
    int64_t const idle_from = i == 0 ? -kFar : own[i - 1].end, idle_until = own[i].begin;
    bool is_home_busy = false, has_begun = false;
    for (Interval const when : busy(home))
      is_home_busy = is_home_busy || (when.begin <= idle_until && idle_until <= when.end);
    for (Interval const when : events(home))
      has_begun = has_begun || (idle_from < when.begin && when.begin <= idle_until);
    if (is_home_busy && has_begun) {
      all.push_back({idle_until + 1, idle_until, std::nullopt, home});
      continue;
    }
    std::optional<std::pair<int64_t, uint32_t>> last;  // end, thread
    for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
      if (t == thread || trace.tracks()[t].kind != model::TrackKind::kThread ||
          (launches(t) == 0 && t != home))
        continue;
      for (Interval const when : busy(t))
        if (idle_from < when.end && when.end <= idle_until &&
            (!last || std::pair(when.end, trace.tracks()[t].id) >
                          std::pair(last->first, trace.tracks()[last->second].id)))
          last = {when.end, t};
    }
    if (last) all.push_back({last->first + 1, last->first, std::nullopt, last->second});
  }
}

}  // namespace stepscope::analyzer
