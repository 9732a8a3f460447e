#include "analyzer/metrics/host/innermost_host_events.h"

#include <algorithm>

#include "analyzer/metrics/host/host_activity.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// Leaves of so many rows stay in a core's cache, and to make them again costs little where clocks
/// send the path back and forth.
constexpr uint32_t kRowsPerMark = 4096;
/// Deeper stacks are not copied: no program nests so deep, and a damaged trace must not fill the
/// memory.
constexpr size_t kDeepestMark = 1024;

}  // namespace

bool is_host_activity(EventKind kind) {
  return !model::is_mark(kind) && kind != EventKind::kSample && !model::is_device_op(kind) &&
         kind != EventKind::kStreamWait;
}

PathClass HostClasses::of(uint32_t row) {
  switch (trace_.kind(row)) {
    case EventKind::kLaunch:
      return PathClass::kLaunch;
    case EventKind::kSync:
      return PathClass::kSync;
    case EventKind::kMemory:
      return PathClass::kAllocation;
    case EventKind::kInputWait:
      return PathClass::kInput;
    case EventKind::kOverhead:
      return PathClass::kProfiler;
    case EventKind::kRange:
    case EventKind::kAnnotatedRange: {
      NameKind& known = of_name_[trace_.columns().name[row].value];
      if (known == NameKind::kUnknown)
        known = is_input_wait_name(trace_.name(row)) ? NameKind::kInput : NameKind::kOther;
      return known == NameKind::kInput ? PathClass::kInput : PathClass::kHost;
    }
    default:
      return PathClass::kHost;
  }
}

InnermostHostEvents::InnermostHostEvents(model::RankTrace const& rank, model::TrackId thread,
                                         HostClasses& classes)
    : rank_(rank), classes_(classes), last_row_(rank.trace.rows_of(thread).last) {
  uint32_t rows = kRowsPerMark;
  for (uint32_t row = rank.trace.rows_of(thread).first; row < last_row_; ++row) {
    if (!is_host_activity(rank.trace.kind(row))) continue;
    int64_t const start = rank.trace.start(row) + rank.offset_ns;

    if (++rows >= kRowsPerMark) {
      close_until(start, false);
      if (marks_.empty() || open_.size() <= kDeepestMark) {
        marks_.push_back({start, row, open_});
        rows = 0;
      }
    }

    pass(row, false);
  }
}

std::optional<HostLeaf> InnermostHostEvents::before(int64_t instant) {
  // A walk asks for one after the other.
  if (last_ > 0 && leaves_[last_].begin == instant) return leaves_[--last_];
  auto const mark = std::partition_point(marks_.begin(), marks_.end(),
                                         [&](Mark const& m) { return m.begin < instant; });
  if (mark == marks_.begin()) return std::nullopt;
  load(static_cast<size_t>(mark - marks_.begin() - 1));
  auto const leaf = std::partition_point(leaves_.begin(), leaves_.end(),
                                         [&](HostLeaf const& l) { return l.begin < instant; });
  last_ = static_cast<size_t>(leaf - leaves_.begin() - 1);  // the mark's row begins one
  return leaves_[last_];
}

void InnermostHostEvents::load(size_t mark) {
  if (loaded_ == mark) return;
  loaded_ = mark;
  last_ = 0;
  leaves_.clear();
  open_ = marks_[mark].open;

  bool const is_last = mark + 1 == marks_.size();
  uint32_t const last_row = is_last ? last_row_ : marks_[mark + 1].row;

  for (uint32_t row = marks_[mark].row; row < last_row; ++row)
    if (is_host_activity(rank_.trace.kind(row))) pass(row, true);
  close_until(is_last ? std::numeric_limits<int64_t>::max() : marks_[mark + 1].begin, true);
}

void InnermostHostEvents::pass(uint32_t row, bool keeps_leaves) {
  int64_t const start = rank_.trace.start(row) + rank_.offset_ns;
  close_until(start, keeps_leaves);
  PathClass const own = classes_.of(row);
  open_.push_back({row, rank_.trace.end(row) + rank_.offset_ns,
                   own == PathClass::kHost && !open_.empty() ? open_.back().path_class : own});
  if (keeps_leaves) add_leaf(start);
}

/// What ended beneath an event that ended later (events of a damaged trace overlap) goes with it.
void InnermostHostEvents::close_until(int64_t instant, bool keeps_leaves) {
  while (!open_.empty() && open_.back().end <= instant) {
    int64_t const end = open_.back().end;
    while (!open_.empty() && open_.back().end <= end) open_.pop_back();
    if (keeps_leaves) add_leaf(end);
  }
}

/// From `begin` on the last of open_ is innermost.
void InnermostHostEvents::add_leaf(int64_t begin) {
  HostLeaf const leaf = open_.empty() ? HostLeaf{begin, kNoLeafRow, PathClass::kHost}
                                      : HostLeaf{begin, open_.back().row, open_.back().path_class};
  if (!leaves_.empty() && leaves_.back().begin == begin) leaves_.pop_back();
  if (leaves_.empty() || leaves_.back().row != leaf.row) leaves_.push_back(leaf);
}

}  // namespace stepscope::analyzer
