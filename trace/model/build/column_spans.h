// Rows that are written where they stay: in the columns of a trace (TraceBuilder::make_rows).
#pragma once

#include <cstdint>
#include <span>

#include "trace/model/ids.h"
#include "trace/model/kinds.h"

namespace stepscope::model {

/// Columns of equal length, of one or more tracks.
struct RowSpans {
  std::span<int64_t> start, dur;
  std::span<StringId> name;
  std::span<EventKind> kind;
  std::span<uint64_t> correlation;

  [[nodiscard]] size_t size() const { return start.size(); }
  [[nodiscard]] RowSpans part(size_t first, size_t count) const {
    return {start.subspan(first, count), dur.subspan(first, count), name.subspan(first, count),
            kind.subspan(first, count), correlation.subspan(first, count)};
  }
};

/// Whether nothing has to be done to such rows of a track: they are in (start, −dur) order, no
/// duration is negative, and their times are possible ones (kMaxTime).
bool are_in_order(std::span<int64_t const> start, std::span<int64_t const> dur);

/// Whether a row may come directly before another of its track.
constexpr bool may_follow(int64_t start_before, int64_t dur_before, int64_t start, int64_t dur) {
  return start_before < start || (start_before == start && dur_before >= dur);
}

}  // namespace stepscope::model
