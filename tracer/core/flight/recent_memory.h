// What was allocated at a moment of the last while: a ring begins with it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tracer/core/rows/live_memory.h"

namespace stepscope::tracer {

/// Used by the writer thread alone. Its size is that of the live allocations and of the calls of
/// the last while.
class RecentMemory {
 public:
  void add(model::TrackId track, RowBatch const& rows);
  /// No moment before is asked for any more.
  void forget_before(int64_t ns);
  template <class Renamed>
  void rename(Renamed const& renamed) {
    before_.rename(renamed);
    for (LiveMemory::Allocation& call : recent_) call.name = renamed(call.name);
  }
  /// What the calls of the last while take.
  [[nodiscard]] size_t bytes() const { return recent_.size() * sizeof(LiveMemory::Allocation); }
  /// The moment of the call in the middle of them; there must be some.
  [[nodiscard]] int64_t middle_ns() const { return recent_[recent_.size() / 2].start_ns; }
  /// The calls that had allocated what was live there, in the order of their starts; `ns` not
  /// before the last forget_before().
  [[nodiscard]] std::vector<LiveMemory::Allocation> live_at(int64_t ns) const;

 private:
  LiveMemory before_;                          ///< by the calls that are not in recent_ any more
  std::deque<LiveMemory::Allocation> recent_;  ///< almost in the order of their starts
};

}  // namespace stepscope::tracer
