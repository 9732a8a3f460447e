// The allocations that are live, of the rows that pass: a file of a later window begins with them,
// as the first one has them from the program's begin on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "trace/model/details.h"
#include "trace/model/ids.h"
#include "tracer/core/rows/row_batch.h"

namespace stepscope::tracer {

/// Used by the writer thread alone. Its size is that of the live allocations, and of what was freed
/// lately.
class LiveMemory {
 public:
  /// A call that allocated.
  struct Allocation {
    model::TrackId track;
    int64_t start_ns = 0, dur_ns = 0;
    model::StringId name;
    uint64_t correlation = 0;
    model::MemoryDetail detail;
  };

  /// Rows that have ended; those of different tracks in any order, as their times tell what came
  /// last.
  void add(model::TrackId track, RowBatch const& rows);
  /// No call that began earlier will come any more.
  void forget_frees_before(int64_t start_ns);
  /// Calls `call` with each live allocation.
  template <class Call>
  void for_each(Call const& call) const {
    for (auto const& [place, last] : last_)
      if (last.detail.op == model::MemoryOp::kAllocate) call(last);
  }
  [[nodiscard]] size_t size() const { return last_.size(); }

 private:
  using Place = std::pair<int32_t, uint64_t>;  ///< device and address
  std::map<Place, Allocation> last_;           ///< the last call that is known of each
};

}  // namespace stepscope::tracer
