#include "analyzer/whatif/replay/host_stretches.h"

#include <algorithm>

#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

/// Passes the events of a thread in their order and closes a stretch wherever the class changes.
class StretchSweep {
 public:
  StretchSweep(std::vector<HostCut> const& cuts, HostStretches& stretches)
      : cuts_(cuts), stretches_(stretches) {}

  void open(int64_t start, int64_t end, PathClass own, uint32_t row) {
    close_until(start);
    pass(start);

    bool const inherits = own == PathClass::kHost && !open_.empty();
    Open next{end, own == PathClass::kHost ? kNoLeafRow : row, own};
    if (inherits) next = {end, open_.back().row, open_.back().path_class};
    open_.push_back(next);
    change(start);
  }

  void close_until(int64_t instant) {
    while (!open_.empty() && open_.back().end <= instant) {
      int64_t const end = open_.back().end;
      pass(end);
      // Events of a damaged trace overlap: what ended beneath this one goes with it.
      while (!open_.empty() && open_.back().end <= end) open_.pop_back();
      change(end);
    }
  }

 private:
  struct Open {
    int64_t end;
    uint32_t row;
    PathClass path_class;
    friend bool operator==(Open const& a, Open const& b) {
      return a.row == b.row && a.path_class == b.path_class;
    }
  };

  /// Cuts up to the instant, at which the thread begins or ends something. All cuts of one instant
  /// are one.
  void pass(int64_t instant) {
    while (next_cut_ < cuts_.size() && cuts_[next_cut_].at <= instant) {
      HostCut all = cuts_[next_cut_];
      for (; next_cut_ < cuts_.size() && cuts_[next_cut_].at == all.at; ++next_cut_) {
        all.starts_step = all.starts_step || cuts_[next_cut_].starts_step;
        all.ends_waiting = all.ends_waiting || cuts_[next_cut_].ends_waiting;
      }
      if (all.at >= stretches_.begin) cut(all);
    }
    last_change_ = instant;
  }

  void cut(HostCut const& cut) {
    if (cut.ends_waiting && cut.at > last_change_) {
      end_at(last_change_);
      end_at(cut.at);
      if (stretches_.all.empty()) return;
      HostStretch& waiting = stretches_.all.back();
      waiting.waits = waiting.path_class == PathClass::kHost;
    } else {
      end_at(cut.at);
    }

    starts_step_ = starts_step_ || cut.starts_step;
  }

  /// From the instant on the last of open_ is innermost.
  void change(int64_t instant) {
    Open const now = open_.empty() ? Open{0, kNoLeafRow, PathClass::kHost} : open_.back();
    if (now == innermost_) return;
    end_at(instant);
    innermost_ = now;
  }

  void end_at(int64_t instant) {
    int64_t const begin = stretches_.all.empty() ? stretches_.begin : stretches_.all.back().end;
    if (instant <= begin) return;
    stretches_.all.push_back({instant, innermost_.row, innermost_.path_class, starts_step_, false});
    starts_step_ = false;
  }

  std::vector<HostCut> const& cuts_;
  HostStretches& stretches_;
  std::vector<Open> open_;
  Open innermost_{0, kNoLeafRow, PathClass::kHost};
  size_t next_cut_ = 0;
  int64_t last_change_ = std::numeric_limits<int64_t>::min();
  bool starts_step_ = false;
};

}  // namespace

HostStretches host_stretches(model::RankTrace const& rank, model::TrackId thread,
                             std::vector<HostCut> const& cuts, HostClasses& classes) {
  HostStretches stretches;
  model::Trace::Rows const rows = rank.trace.rows_of(thread);
  RowView const view(rank);
  base::reserve_long(stretches.all, (rows.last - rows.first) / 2);
  bool is_first = true;
  StretchSweep sweep(cuts, stretches);

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (!is_host_activity(view.kind(row))) continue;
    if (is_first) stretches.begin = view.start(row);
    is_first = false;
    sweep.open(view.start(row), view.end(row), classes.of(row), row);
  }

  sweep.close_until(std::numeric_limits<int64_t>::max());
  return stretches;
}

size_t StretchFinder::count_ended(int64_t instant) {
  auto const& all = stretches_.all;
  constexpr size_t kNear = 64;

  size_t steps = 0;
  while (last_ < all.size() && all[last_].end <= instant && steps < kNear) ++last_, ++steps;
  while (last_ > 0 && all[last_ - 1].end > instant && steps < kNear) --last_, ++steps;

  bool const is_found = (last_ == 0 || all[last_ - 1].end <= instant) &&
                        (last_ == all.size() || all[last_].end > instant);
  if (!is_found)
    last_ = static_cast<size_t>(
        std::partition_point(all.begin(), all.end(),
                             [&](HostStretch const& s) { return s.end <= instant; }) -
        all.begin());
  return last_;
}

}  // namespace stepscope::analyzer
