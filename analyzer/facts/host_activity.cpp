#include "analyzer/facts/host_activity.h"

#include <algorithm>
#include <limits>

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// Ranges around the blocking call of a loader: PyTorch's "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" and
/// "DataLoader.__next__", TensorFlow's "IteratorGetNext" and "Iterator::GetNext".
bool is_loader_next(std::string_view name) {
  return name.find("DataLoader") != std::string_view::npos && name.find("__next__") != std::string_view::npos;
}

/// Instants and the step itself never explain an idle device.
bool can_explain(EventKind kind) {
  return !model::is_mark(kind) && kind != EventKind::kStep && kind != EventKind::kSample && !model::is_device_op(kind) &&
         kind != EventKind::kStreamWait;
}

}  // namespace

bool is_input_wait_name(std::string_view name) {
  return is_loader_next(name) || name.find("IteratorGetNext") != std::string_view::npos ||
         name.find("Iterator::GetNext") != std::string_view::npos;
}

HostActivity::HostActivity(model::RankTrace const& rank, std::vector<std::vector<HostStep>> const& steps)
    : rank_(rank), steps_(steps), threads_(rank.trace.tracks().size()) {
  std::vector<Interval> overhead;
  model::Trace const& trace = rank.trace;
  auto const& kinds = trace.columns().kind;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (kinds[row] == EventKind::kOverhead)
      overhead.push_back({trace.start(row) + rank.offset_ns, trace.end(row) + rank.offset_ns});
  overhead_ = model::unite(std::move(overhead));
}

ThreadSets const& HostActivity::thread(model::TrackId track) {
  std::unique_ptr<ThreadSets>& slot = threads_[track.value];
  if (slot) return *slot;
  std::vector<Interval> allocation, sync, input;
  model::Trace const& trace = rank_.trace;
  std::vector<int8_t> waits(trace.strings().size(), -1);  // is_input_wait_name of each name, −1 = not asked yet
  model::Trace::Rows const rows = trace.rows_of(track);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    Interval const when{trace.start(row) + rank_.offset_ns, trace.end(row) + rank_.offset_ns};
    switch (trace.kind(row)) {
      case EventKind::kMemory:
        allocation.push_back(when);
        break;
      case EventKind::kSync:
        sync.push_back(when);
        break;
      case EventKind::kInputWait:
        input.push_back(when);
        break;
      case EventKind::kRange:
      case EventKind::kAnnotatedRange: {
        int8_t& wait = waits[trace.columns().name[row].value];
        if (wait < 0) wait = is_input_wait_name(trace.name(row)) ? 1 : 0;
        if (wait == 1) input.push_back(when);
        break;
      }
      default:
        break;
    }
  }
  slot = std::make_unique<ThreadSets>(
      ThreadSets{model::unite(std::move(allocation)), model::unite(std::move(sync)), model::unite(std::move(input))});
  return *slot;
}

model::IntervalSet const& HostActivity::input_of_step_threads() {
  if (!step_thread_input_) {
    step_thread_input_ = std::make_unique<model::IntervalSet>();
    for (uint32_t t = 0; t < steps_.size(); ++t)
      if (!steps_[t].empty()) *step_thread_input_ = model::unite(*step_thread_input_, thread(model::TrackId{t}).input);
  }
  return *step_thread_input_;
}

HostCursor::HostCursor(model::RankTrace const& rank, model::TrackId track)
    : rank_(rank),
      next_(rank.trace.rows_of(track).first),
      last_(rank.trace.rows_of(track).last),
      now_(std::numeric_limits<int64_t>::min()) {}

int64_t HostCursor::next_start() const { return rank_.trace.start(next_) + rank_.offset_ns; }

void HostCursor::close_back() {
  if (open_.back().in_window > best_ns_) {
    best_ns_ = open_.back().in_window;
    best_ = open_.back().row;
  }
  open_.pop_back();
}

void HostCursor::advance(int64_t until) {
  while (!open_.empty() && now_ < until) {
    int64_t const end = std::min(open_.back().end, until);
    if (end > now_) {
      open_.back().in_window += end - now_;
      now_ = end;
    }
    if (open_.back().end <= now_) close_back();
  }
  now_ = std::max(now_, until);
}

std::optional<uint32_t> HostCursor::dominant(Interval window) {
  auto const open_until = [&](int64_t instant) {
    for (; next_ < last_ && next_start() < instant; ++next_) {
      advance(next_start());
      if (can_explain(rank_.trace.kind(next_))) open_.push_back({next_, rank_.trace.end(next_) + rank_.offset_ns, 0});
    }
    advance(instant);
  };
  open_until(window.begin);
  best_.reset();
  best_ns_ = 0;
  for (Frame& frame : open_) frame.in_window = 0;
  open_until(window.end);
  for (size_t i = open_.size(); i-- > 0;) {
    if (open_[i].in_window <= best_ns_) continue;
    best_ns_ = open_[i].in_window;
    best_ = open_[i].row;
  }
  return best_;
}

}  // namespace stepscope::analyzer
