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

bool TwinRank::waits_for_copy(uint32_t call) const {
  if (trace.name(call).find("Async") != std::string_view::npos) return false;
  for (Op const& op : ops) {
    model::EventId const link = trace.columns().link[op.row];
    if (!link.valid() || link.value != call || start(call) > op.start) continue;
    return trace.kind(op.row) == model::EventKind::kMemcpy && op.end <= end(call);
  }
  return false;
}

std::optional<uint32_t> TwinRank::stream_of(int32_t device, int32_t id) const {
  for (uint32_t t = 0; t < trace.tracks().size(); ++t)
    if (trace.tracks()[t].kind == model::TrackKind::kStream && trace.tracks()[t].device == device &&
        trace.tracks()[t].id == id)
      return t;
  return std::nullopt;
}

std::optional<size_t> TwinRank::launched_before(uint32_t stream, uint64_t correlation) const {
  std::optional<size_t> last;
  for (size_t const i : in_stream(stream)) {
    if (call(ops[i].row) >= correlation) return last;
    last = i;
  }
  return last;
}

void TwinRank::add_source(size_t i, uint32_t wait) {
  auto const& detail = trace.detail<model::StreamWaitDetail>(wait);
  auto const source_stream = stream_of(detail.source_device, detail.source_stream);
  std::optional<size_t> source, waiting;

  if (call(wait) != 0 && detail.source_correlation != 0) {
    for (size_t const j : in_stream(track(wait)))
      if (!waiting && call(ops[j].row) > call(wait)) waiting = j;
    if (source_stream) source = launched_before(*source_stream, detail.source_correlation);
  } else {
    for (size_t const j : in_stream(track(wait)))
      if (!waiting && ops[j].row > wait) waiting = j;
    if (detail.source_stream < 0 && has_device(detail.source_device))
      source = last_ended(end(wait), [&](size_t u) {
        return trace.track(ops[u].row).device == detail.source_device;
      });
    if (detail.source_stream >= 0 && source_stream)
      source = last_ended(end(wait), [&](size_t u) { return track(ops[u].row) == *source_stream; });
  }

  if (waiting == i && source && ops[*source].start < ops[i].start &&
      ops[*source].end <= ops[i].start)
    ops[i].sources.push_back(*source);
}

void TwinRank::find_syncs() {
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) == model::EventKind::kSync) add_sync(row);
    if (trace.kind(row) != model::EventKind::kLaunch ||
        trace.name(row).find("Async") != std::string_view::npos)
      continue;

    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].launch != row) continue;
      if (trace.kind(ops[i].row) == model::EventKind::kMemcpy) add_wait_for_op(row, i);
      break;  // the first op of the launch
    }
  }
}

void TwinRank::add_sync(uint32_t row) {
  auto const& detail = trace.detail<model::SyncDetail>(row);
  auto const stream = stream_of(detail.device, detail.stream);

  if (detail.sync == model::SyncKind::kEvent && detail.source_correlation != 0) {
    auto const op = stream ? launched_before(*stream, detail.source_correlation) : std::nullopt;
    if (op) add_wait_for_op(row, *op);
  } else if ((detail.sync == model::SyncKind::kEvent || detail.sync == model::SyncKind::kStream) &&
             stream && detail.stream >= 0) {
    add(row, [this, stream](size_t u) { return track(ops[u].row) == *stream; });
  } else if (detail.sync != model::SyncKind::kEvent && has_device(detail.device)) {
    add(row, [this, device = detail.device](size_t u) {
      return trace.track(ops[u].row).device == device;
    });
  } else if (detail.sync == model::SyncKind::kDevice || end(row) - start(row) >= kTwinLimit) {
    add(row, [](size_t) { return true; });
  }
}

std::pair<std::optional<uint32_t>, PathClass> TwinRank::innermost(uint32_t thread, int64_t ns,
                                                                  uint32_t before_row) const {
  std::optional<uint32_t> best;
  for (uint32_t row = 0; row < std::min(before_row, trace.event_count()); ++row)
    if (track(row) == thread && is_activity(trace.kind(row)) && start(row) <= ns && ns < end(row))
      best = row;

  if (!best) return {std::nullopt, PathClass::kHost};
  switch (trace.kind(*best)) {
    case model::EventKind::kLaunch:
      return {best, PathClass::kLaunch};
    case model::EventKind::kSync:
      return {best, PathClass::kSync};
    case model::EventKind::kMemory:
      return {best, PathClass::kAllocation};
    case model::EventKind::kInputWait:
      return {best, PathClass::kInput};
    default:
      return {best, innermost(thread, start(*best), *best).second};
  }
}

std::vector<Interval> TwinRank::busy(uint32_t thread) const {
  std::vector<Interval> result = events(thread);
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t j = 0; j < result.size(); ++j) {
      if (i == j || result[i].end < result[j].begin || result[j].end < result[i].begin) continue;
      result[i] = {std::min(result[i].begin, result[j].begin),
                   std::max(result[i].end, result[j].end)};
      result.erase(result.begin() + static_cast<ptrdiff_t>(j));
      i = static_cast<size_t>(-1);
      break;
    }
  }

  std::sort(result.begin(), result.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
  return result;
}

std::optional<uint32_t> TwinRank::busiest(bool has_steps) const {
  std::optional<uint32_t> best;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kThread || steps[t].empty() == has_steps)
      continue;
    if (!best || std::pair(launches(t), -trace.tracks()[t].id) >
                     std::pair(launches(*best), -trace.tracks()[*best].id))
      best = t;
  }
  return best;
}

std::optional<TwinRank::Exit> TwinRank::exit_of(uint32_t thread, int64_t position) const {
  std::vector<Exit> all;
  for (Sync const& sync : syncs)
    if (track(sync.row) == thread && sync.released_by)
      all.push_back({sync.ready, sync.ready, sync.released_by, 0});

  auto const home = busiest(true), helper = busiest(false);
  if (home && helper && launches(*helper) > 0) {
    if (thread == *home && launches(*helper) >= launches(*home) / 10)
      add_ways_to_helper(*home, *helper, all);
    if (steps[thread].empty() && launches(thread) > 0) add_ways_back(thread, *home, all);
  }

  std::optional<Exit> best;
  for (Exit const& exit : all)
    if (exit.from <= position && (!best || exit.key() > best->key())) best = exit;
  return best;
}

void TwinRank::add_ways_to_helper(uint32_t home, uint32_t helper, std::vector<Exit>& all) const {
  std::vector<Interval> const of_home = events(home);

  std::vector<Interval> quiet;
  for (size_t i = 0; i < of_home.size(); ++i) {
    int64_t const next = i + 1 < of_home.size() ? of_home[i + 1].begin : kFar;
    quiet.push_back({of_home[i].begin, std::min(of_home[i].end, next)});
    if (of_home[i].end < next) quiet.push_back({of_home[i].end, next});
  }

  for (auto const [from, until] : quiet) {
    std::optional<int64_t> last;
    bool is_busy = false;
    for (Interval const when : busy(helper)) {
      if (when.end <= until) last = when.end;
      is_busy = is_busy || (when.begin < until && until < when.end);
    }

    if (last && *last > from && !is_busy) all.push_back({*last, *last, std::nullopt, helper});
  }
}

}  // namespace stepscope::analyzer
