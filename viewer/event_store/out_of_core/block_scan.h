// Goes through all events of tracks block by block, keeping none: for what counts or looks for
// events of a run that memory should not hold. About 10 ns an event on a core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "trace/import/open/trace_source.h"

namespace stepscope::viewer {

/// Which blocks are looked at: those that may have events of these kinds that touch [begin, end),
/// trace time.
struct ScanWindow {
  int64_t begin = std::numeric_limits<int64_t>::min(), end = std::numeric_limits<int64_t>::max();
  uint64_t kinds = UINT64_MAX;  ///< bit k = kind k

  [[nodiscard]] bool is_all_time() const {
    return begin == std::numeric_limits<int64_t>::min() &&
           end == std::numeric_limits<int64_t>::max();
  }
};
std::vector<file::IndexEntry> blocks_of(import::TraceSource const& source, uint32_t track,
                                        ScanWindow const& window);

struct ScannedEvent {
  int64_t start = 0, dur = 0;  ///< trace time
  model::EventKind kind = model::EventKind::kRange;
  uint32_t name = 0;  ///< id of TraceFile::texts(); may be none of them in damaged files
};

/// One a thread.
struct ScanBuffers {
  file::EventDecoder decoder;
  model::EventBatch batch;
  std::vector<uint8_t> marks;
};

/// Calls visit(row, ScannedEvent) for the rows of a decoded block that are of the window.
template <class Visit>
void scan_rows(import::TraceSource const& source, model::EventBatch const& batch,
               ScanWindow const& window, Visit visit) {
  model::ClockDrift const& drift = source.drift();

  for (size_t row = 0; row < batch.size(); ++row) {
    if ((window.kinds >> static_cast<unsigned>(batch.kind[row]) & 1) == 0) continue;

    // What a damaged file claims beyond is moved, as reading does.
    int64_t start = std::clamp(batch.start[row], -model::kMaxTime, model::kMaxTime);
    int64_t end =
        std::min(start + std::clamp<int64_t>(batch.dur[row], 0, model::kMaxTime), model::kMaxTime);
    if (!drift.is_none()) {
      start = drift.corrected(start);
      end = drift.corrected(end);
    }

    if (start >= window.end || (end <= window.begin && start < window.begin)) continue;
    visit(row, ScannedEvent{start, end - start, batch.kind[row], batch.name[row].value});
  }
}

/// Calls visit(ScannedEvent) for the events of a block that are of the window. A damaged block has
/// none.
template <class Visit>
void scan_block(import::TraceSource const& source, file::IndexEntry const& block,
                ScanWindow const& window, ScanBuffers& buffers, Visit visit) {
  file::ColumnSelection columns;
  columns.correlation = false;
  columns.tables = 0;
  if (!source.file()->decode_block(block, columns, buffers.decoder, buffers.batch)) return;
  scan_rows(source, buffers.batch, window,
            [&](size_t, ScannedEvent const& event) { visit(event); });
}

/// Which names a block is searched for.
struct WantedNames {
  std::span<char const> by_id;  ///< of TraceFile::texts(); the last for all that are none of them
  /// Calls count(events) instead of visit() where nothing but how many there are is asked for.
  bool are_counted = false;
};

/// Calls visit(ScannedEvent), without a name, for the events of a block that are of the window and
/// have a wanted name, in their order. A block without such names is not decoded. A damaged one has
/// none.
template <class Visit, class Count>
void scan_named(import::TraceSource const& source, file::IndexEntry const& block,
                ScanWindow const& window, WantedNames const& wanted, ScanBuffers& buffers,
                Visit visit, Count count) {
  auto const named = source.file()->mark_names(block, wanted.by_id, buffers.decoder, buffers.marks);
  if (!named || *named == 0) return;

  bool const is_every_kind = (block.header.kinds & ~window.kinds) == 0;
  if (wanted.are_counted && is_every_kind && window.is_all_time()) return count(*named);

  file::ColumnSelection columns;
  columns.name = columns.correlation = false;
  columns.tables = 0;
  if (!source.file()->decode_block(block, columns, buffers.decoder, buffers.batch)) return;

  if (buffers.batch.size() == buffers.marks.size()) {
    scan_rows(source, buffers.batch, window, [&](size_t row, ScannedEvent const& event) {
      if (buffers.marks[row] != 0) visit(event);
    });
    return;
  }

  // Events of kinds that we do not know were left out: rows are not what they are in the file.
  scan_block(source, block, window, buffers, [&](ScannedEvent const& event) {
    if (wanted.by_id[std::min<size_t>(event.name, wanted.by_id.size() - 1)] != 0) visit(event);
  });
}

}  // namespace stepscope::viewer
