// The allocations that are live, of the rows that pass: a file of a later window begins with them,
// as the first one has them from the program's begin on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "trace/model/details.h"
#include "trace/model/ids.h"
#include "trace/model/kinds.h"
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
  void add(model::TrackId track, RowBatch const& rows) {
    for_each_call(track, rows, [this](Allocation const& call) { add(call); });
  }
  void add(Allocation const& call);
  /// Calls `call` with what each row of the batch says of memory.
  template <class Call>
  static void for_each_call(model::TrackId track, RowBatch const& rows, Call const& call);
  /// No call that began earlier will come any more.
  void forget_frees_before(int64_t start_ns);
  /// Calls `call` with each live allocation.
  template <class Call>
  void for_each(Call const& call) const {
    for (auto const& [place, last] : last_)
      if (last.detail.op == model::MemoryOp::kAllocate) call(last);
  }
  [[nodiscard]] size_t size() const { return last_.size(); }
  /// Gives each call the name that `renamed` returns for its own.
  template <class Renamed>
  void rename(Renamed const& renamed) {
    for (auto& [place, last] : last_) last.name = renamed(last.name);
  }

 private:
  using Place = std::pair<int32_t, uint64_t>;  ///< device and address
  std::map<Place, Allocation> last_;           ///< the last call that is known of each
};

template <class Call>
void LiveMemory::for_each_call(model::TrackId track, RowBatch const& rows, Call const& call) {
  auto const& details = std::get<UnforkedColumn<model::MemoryDetail>>(rows.details);
  if (details.empty()) return;

  auto detail = details.begin();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (model::kind_info(rows.kind[row]).table != model::DetailTable::kMemory) continue;
    Allocation const one = {track,          rows.start[row],       rows.dur[row],
                            rows.name[row], rows.correlation[row], *detail++};
    if (one.detail.op != model::MemoryOp::kUnknown) call(one);
  }
}

}  // namespace stepscope::tracer
