#include "analyzer/metrics/host/host_activity.h"

#include <algorithm>
#include <limits>

#include "analyzer/metrics/core/add_interval.h"
#include "analyzer/metrics/work/copies.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

/// Launches that take several times as long as usual.
constexpr int64_t kHeldLaunchNs = 20'000;
/// Threads that allocate at once: more are not looked for.
constexpr ptrdiff_t kMostAllocators = 8;

using model::EventKind;

/// Ranges around the blocking call of a loader: PyTorch's
/// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" and "DataLoader.__next__",
/// TensorFlow's "IteratorGetNext" and "Iterator::GetNext".
bool is_loader_next(std::string_view name) {
  return name.find("DataLoader") != std::string_view::npos &&
         name.find("__next__") != std::string_view::npos;
}

/// Instants and the step itself never explain an idle device. Bit k = events of kind k can.
constexpr uint64_t kExplaining = [] {
  uint64_t kinds = 0;
  for (int number = 0; number < model::kKindCount; ++number) {
    auto const kind = static_cast<EventKind>(number);
    bool const can_explain =
        kind != EventKind::kMark && kind != EventKind::kAnnotatedMark && kind != EventKind::kStep &&
        kind != EventKind::kSample && kind != EventKind::kStreamWait &&
        model::kKindTable[static_cast<size_t>(number)].op_class == model::OpClass::kNone;
    kinds |= uint64_t{can_explain} << number;
  }

  return kinds;
}();

/// Indexed by string; empty where no string is a name of input waits.
std::vector<bool> are_input_wait_names(model::StringTable const& strings) {
  std::vector<bool> is_wait;
  for (uint32_t id = 0; id < strings.size(); ++id) {
    if (!is_input_wait_name(strings.text(model::StringId{id}))) continue;
    is_wait.resize(strings.size());
    is_wait[id] = true;
  }
  return is_wait;
}

}  // namespace

bool is_input_wait_name(std::string_view name) {
  return is_loader_next(name) || name.find("IteratorGetNext") != std::string_view::npos ||
         name.find("Iterator::GetNext") != std::string_view::npos;
}

HostActivity::HostActivity(model::RankTrace const& rank,
                           std::vector<std::vector<HostStep>> const& steps)
    : rank_(rank), steps_(steps), callers_(rank.trace), threads_(rank.trace.tracks().size()) {
  std::vector<Interval> overhead;
  RowView const view(rank);
  model::for_each_row_of<EventKind::kOverhead>(
      rank.trace, [&](uint32_t row) { add_interval(overhead, view.when(row)); });
  overhead_ = model::unite(std::move(overhead));

  find_blocking_copies();
  find_unrecorded_copies();
  find_held_launches();
}

void HostActivity::find_blocking_copies() {
  model::Trace const& trace = rank_.trace;
  RowView const view(rank_);
  model::for_each_row_of<EventKind::kMemcpy>(trace, [&](uint32_t row) {
    model::EventId const launch = view.link(row);
    if (!launch.valid() || !waits_for_copy(trace, launch.value, row)) return;
    blocking_copies_.resize(trace.tracks().size());
    add_interval(blocking_copies_[view.track(launch.value).value], view.when(launch.value));
  });
}

void HostActivity::find_unrecorded_copies() {
  model::Trace const& trace = rank_.trace;
  std::vector<bool> is_blocking(trace.strings().size());
  for (uint32_t id = 0; id < is_blocking.size(); ++id)
    is_blocking[id] = is_blocking_copy_call(trace.strings().text(model::StringId{id}));
  if (std::find(is_blocking.begin(), is_blocking.end(), true) == is_blocking.end()) return;

  std::vector<Interval> calls;
  RowView const view(rank_);
  model::for_each_row_of<EventKind::kLaunch>(trace, [&](uint32_t row) {
    if (!is_blocking[view.name(row).value] || view.link(row).valid()) return;
    blocking_copies_.resize(trace.tracks().size());
    add_interval(blocking_copies_[view.track(row).value], view.when(row));
    add_interval(calls, view.when(row));
  });
  unrecorded_copies_ = model::unite(std::move(calls));
}

/// The driver allocates under a lock. A long launch that began while another thread allocated, and
/// that ended with or after that call, waited for it; if that was most of the launch, it explains
/// it.
void HostActivity::find_held_launches() {
  model::Trace const& trace = rank_.trace;
  RowView const view(rank_);
  std::vector<uint32_t> allocations;
  model::for_each_row_of<EventKind::kMemory>(trace, [&](uint32_t row) {
    if (view.when(row).length() >= kHeldLaunchNs / 2) allocations.push_back(row);
  });
  if (allocations.empty()) return;

  std::sort(allocations.begin(), allocations.end(),
            [&](uint32_t a, uint32_t b) { return view.start(a) < view.start(b); });

  model::for_each_row_of<EventKind::kLaunch>(trace, [&](uint32_t row) {
    Interval const call = view.when(row);
    if (call.length() < kHeldLaunchNs) return;
    auto const behind = std::partition_point(
        allocations.begin(), allocations.end(),
        [&](uint32_t allocation) { return view.start(allocation) < call.begin; });
    auto const first = behind - std::min<ptrdiff_t>(behind - allocations.begin(), kMostAllocators);

    for (auto allocation = first; allocation != behind; ++allocation) {
      int64_t const end = view.end(*allocation);
      bool const is_most = end <= call.end && 2 * (end - call.begin) >= call.length();
      if (!is_most || view.track(*allocation) == view.track(row)) continue;
      held_launches_.resize(trace.tracks().size());
      held_launches_[view.track(row).value].push_back({call.begin, end});
    }
  });
}

ThreadSets const& HostActivity::thread(model::TrackId track) {
  std::unique_ptr<ThreadSets>& slot = threads_[track.value];
  if (slot) return *slot;

  model::Trace::Columns const& columns = rank_.trace.columns();
  model::Trace::Rows const rows = rank_.trace.rows_of(track);
  RowView const view(rank_);

  std::vector<Interval> allocation, sync, input;
  allocation.reserve(rows.size() / 8);
  auto const add_to = [&](std::vector<Interval>& set) {
    return [&](uint32_t row) { add_interval(set, view.when(row)); };
  };

  model::for_each_row_of<EventKind::kMemory>(columns, rows, add_to(allocation));
  if (!held_launches_.empty())
    allocation.insert(allocation.end(), held_launches_[track.value].begin(),
                      held_launches_[track.value].end());
  model::for_each_row_of<EventKind::kSync>(columns, rows, add_to(sync));
  if (!blocking_copies_.empty())
    sync.insert(sync.end(), blocking_copies_[track.value].begin(),
                blocking_copies_[track.value].end());
  model::for_each_row_of<EventKind::kInputWait>(columns, rows, add_to(input));

  if (!waits_) waits_ = are_input_wait_names(rank_.trace.strings());
  if (!waits_->empty()) {
    model::for_each_row_of<EventKind::kRange, EventKind::kAnnotatedRange>(
        columns, rows, [&](uint32_t row) {
          if ((*waits_)[view.name(row).value]) add_interval(input, view.when(row));
        });
  }

  slot = std::make_unique<ThreadSets>(ThreadSets{model::unite(std::move(allocation)),
                                                 model::unite(std::move(sync)),
                                                 model::unite(std::move(input)),
                                                 {}});
  slot->any = model::unite(model::unite(slot->allocation, slot->sync), slot->input);

  return *slot;
}

model::IntervalSet const& HostActivity::input_of_step_threads() {
  if (!step_thread_input_) {
    step_thread_input_ = std::make_unique<model::IntervalSet>();
    for (uint32_t t = 0; t < steps_.size(); ++t)
      if (!steps_[t].empty())
        *step_thread_input_ = model::unite(*step_thread_input_, thread(model::TrackId{t}).input);
  }
  return *step_thread_input_;
}

std::vector<HostStep> const& HostActivity::steps_for(model::TrackId track) const {
  if (has_steps(track)) return steps_[track.value];
  auto const first =
      std::find_if(steps_.begin(), steps_.end(), [](auto const& steps) { return !steps.empty(); });
  return first == steps_.end() ? steps_[track.value] : *first;
}

HostCursor::HostCursor(model::RankTrace const& rank, model::TrackId track)
    : rows_(rank),
      next_(rank.trace.rows_of(track).first),
      last_(rank.trace.rows_of(track).last),
      now_(std::numeric_limits<int64_t>::min()) {}

void HostCursor::look_at(Frame const& frame) {
  if (frame.in_window > best_ns_) {
    best_ns_ = frame.in_window;
    best_ = model::EventId{frame.row};
  }
  if (covering_.valid()) return;
  int64_t const inside =
      std::min(frame.end, window_.end) - std::max(rows_.start(frame.row), window_.begin);
  if (2 * inside > window_.length()) covering_ = model::EventId{frame.row};
}

void HostCursor::close_back() {
  look_at(open_.back());
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

void HostCursor::open(uint32_t row) {
  if ((kExplaining >> static_cast<int>(rows_.kind(row)) & 1) == 0) return;
  Frame& frame = open_.emplace_back();
  frame.row = row;
  frame.end = rows_.end(row);
  frame.in_window = 0;
}

void HostCursor::skip_until(int64_t instant) {
  auto const close = [&](int64_t until) {
    while (!open_.empty() && open_.back().end <= until) open_.pop_back();
  };

  // Almost all are over by then.
  for (; next_ < last_ && rows_.start(next_) < instant; ++next_) {
    if (rows_.end(next_) <= instant) continue;
    close(rows_.start(next_));
    open(next_);
  }

  close(instant);
  now_ = std::max(now_, instant);
}

model::EventId HostCursor::dominant(Interval window) {
  skip_until(window.begin);
  best_ = covering_ = {};
  best_ns_ = 0;
  window_ = window;
  for (Frame& frame : open_) frame.in_window = 0;

  for (; next_ < last_ && rows_.start(next_) < window.end; ++next_) {
    advance(rows_.start(next_));
    open(next_);
  }

  advance(window.end);
  for (size_t i = open_.size(); i-- > 0;) look_at(open_[i]);
  return 2 * best_ns_ < window.length() && covering_.valid() ? covering_ : best_;
}

}  // namespace stepscope::analyzer
