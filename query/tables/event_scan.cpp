#include "query/tables/event_scan.h"

#include <algorithm>

namespace stepscope::query {
namespace {

/// Run time as the process's own; bounds stay bounds.
EventFilter::Range in_trace_time(EventFilter::Range range, int64_t offset_ns) {
  auto const shift = [&](int64_t bound) {
    if (bound == INT64_MIN || bound == INT64_MAX) return bound;
    int64_t shifted = 0;
    if (__builtin_sub_overflow(bound, offset_ns, &shifted))
      return bound < 0 ? INT64_MIN : INT64_MAX;
    return shifted;
  };
  return {shift(range.low), shift(range.high)};
}

/// The part of a range that is kept; null: all of it.
EventFilter::Range within(model::Interval const* kept, EventFilter::Range range) {
  if (kept == nullptr) return range;
  return {std::max(range.low, kept->begin), std::min(range.high, kept->end - 1)};
}

std::optional<model::EventKind> kind_of_name(std::string_view name) {
  for (uint8_t kind = 0; kind < model::kKindCount; ++kind)
    if (model::kKindTable[kind].name == name) return static_cast<model::EventKind>(kind);
  return std::nullopt;
}

}  // namespace

bool EventFilter::Equal::holds(model::TableSource const& source, uint32_t row) const {
  model::Cell const cell = column->read(source, row);
  if (is_text) return cell.type == model::Cell::Type::kText && cell.text == text;
  return cell.type == model::Cell::Type::kInteger && cell.integer() == integer;
}

void EventScan::start(EventFilter filter) {
  filter_ = std::move(filter);
  process_ = 0;
  inside_ = false;
  at_ = last_ = 0;
  lookup_ = false;
  kind_.reset();

  if (filter_.kind) {
    kind_ = kind_of_name(*filter_.kind);
    filter_.nothing = filter_.nothing || !kind_;
  }

  if (filter_.nothing) {
    process_ = processes_.size();
    return;
  }
  find_row();
}

bool EventScan::matches(uint32_t row) const {
  model::Trace const& trace = processes_[process_]->trace();
  if (!table_.has(trace, row)) return false;
  if (kind_ && trace.kind(row) != *kind_) return false;
  if (filter_.name &&
      std::find(names_.begin(), names_.end(), trace.columns().name[row]) == names_.end())
    return false;
  return start_.has(trace.start(row)) && end_.has(trace.end(row)) &&
         filter_.dur.has(trace.columns().dur[row]);
}

void EventScan::find_row() {
  while (!at_end()) {
    for (; at_ < last_; ++at_)
      if (matches(row())) return;
    if (inside_ && next_run()) continue;
    if (inside_) ++process_;
    inside_ = false;
    while (!at_end() && !enter_process()) ++process_;
  }
}

bool EventScan::enter_process() {
  Process& process = *processes_[process_];
  at_ = last_ = track_ = 0;
  lookup_ = false;
  if (process.trace().event_count() == 0) return false;

  for (EventFilter::Equal const& equal : filter_.equal)
    if (equal.column->of == model::ColumnOf::kProcess && !equal.holds(process.cells(), 0))
      return false;
  if (filter_.name) {
    names_ = process.ids_of(*filter_.name);
    if (names_.empty()) return false;
  }

  start_of_process_ = start_ = in_trace_time(filter_.start, process.cells().offset_ns());
  end_ = in_trace_time(filter_.end, process.cells().offset_ns());
  inside_ = true;

  if (filter_.id || filter_.correlation) enter_lookup();
  return true;
}

/// A few rows: each is looked at by itself.
void EventScan::enter_lookup() {
  Process& process = *processes_[process_];
  model::Trace const& trace = process.trace();
  lookup_ = true;

  found_.clear();
  auto const add = [&](uint32_t row) {
    for (EventFilter::Equal const& equal : filter_.equal)
      if (!equal.holds(process.cells(), row)) return;
    if (within(process.kept_starts(trace.columns().track[row].value), start_of_process_)
            .has(trace.start(row)))
      found_.push_back(row);
  };

  if (filter_.id) {
    auto const row = static_cast<uint64_t>(*filter_.id);
    bool const there = row < trace.event_count();
    if (there && (!filter_.correlation ||
                  trace.columns().correlation[row] == static_cast<uint64_t>(*filter_.correlation)))
      add(static_cast<uint32_t>(row));
  } else {
    for (uint32_t const row :
         process.rows_of_correlation(static_cast<uint64_t>(*filter_.correlation)))
      add(row);
  }

  last_ = static_cast<uint32_t>(found_.size());
}

bool EventScan::next_run() {
  if (lookup_) return false;
  while (track_ < processes_[process_]->trace().tracks().size())
    if (enter_track()) return true;
  return false;
}

/// The part of a track that the times allow.
bool EventScan::enter_track() {
  Process& process = *processes_[process_];
  model::Trace const& trace = process.trace();
  uint32_t const track = track_++;
  auto const rows = trace.rows_of(model::TrackId{track});
  if (rows.size() == 0 || !process.has_table(track, table_.detail)) return false;

  for (EventFilter::Equal const& equal : filter_.equal)
    if (equal.column->of == model::ColumnOf::kTrack && !equal.holds(process.cells(), rows.first))
      return false;

  start_ = within(process.kept_starts(track), start_of_process_);
  at_ = rows.first;
  last_ = rows.last;

  auto const starts = [&](int64_t time, bool after) {
    auto const begin = trace.columns().start.begin();
    auto const found = after ? std::upper_bound(begin + rows.first, begin + rows.last, time)
                             : std::lower_bound(begin + rows.first, begin + rows.last, time);
    return static_cast<uint32_t>(found - begin);
  };

  if (start_.low != INT64_MIN) at_ = starts(start_.low, false);
  // What starts after the latest end ends after it.
  int64_t const latest = std::min(start_.high, end_.high);
  if (latest != INT64_MAX) last_ = starts(latest, true);
  if (end_.low != INT64_MIN) at_ = std::max(at_, process.first_ending_at(track, end_.low));
  last_ = std::max(at_, last_);

  return at_ < last_;
}

}  // namespace stepscope::query
