// Goes through all events of tracks block by block, keeping none: for what counts or looks for events of a run that memory should
// not hold. About 10 ns an event on a core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <vector>

#include "trace/import/trace_source.h"

namespace stepscope::viewer {

/// Which blocks are looked at: those that may have events of these kinds that touch [begin, end), trace time.
struct ScanWindow {
  int64_t begin = std::numeric_limits<int64_t>::min(), end = std::numeric_limits<int64_t>::max();
  uint64_t kinds = UINT64_MAX;  ///< bit k = kind k
};
std::vector<file::IndexEntry> blocks_of(import::TraceSource const& source, uint32_t track, ScanWindow const& window);

struct ScannedEvent {
  int64_t start = 0, dur = 0;  ///< trace time
  model::EventKind kind = model::EventKind::kRange;
  uint32_t name = 0;  ///< id of TraceFile::texts(); may be none of them in damaged files
};

/// One a thread.
struct ScanBuffers {
  file::EventDecoder decoder;
  model::EventBatch batch;
};

/// Calls visit(ScannedEvent) for the events of a block that are of the window. A damaged block has none.
template <class Visit>
void scan_block(import::TraceSource const& source, file::IndexEntry const& block, ScanWindow const& window, ScanBuffers& buffers,
                Visit visit) {
  file::ColumnSelection columns;
  columns.correlation = false;
  columns.tables = 0;
  model::EventBatch& batch = buffers.batch;
  if (!source.file()->decode_block(block, columns, buffers.decoder, batch)) return;
  model::ClockDrift const& drift = source.drift();
  for (size_t row = 0; row < batch.size(); ++row) {
    if ((window.kinds >> static_cast<unsigned>(batch.kind[row]) & 1) == 0) continue;
    // What a damaged file claims beyond is moved, as reading does.
    int64_t start = std::clamp(batch.start[row], -model::kMaxTime, model::kMaxTime);
    int64_t end = std::min(start + std::clamp<int64_t>(batch.dur[row], 0, model::kMaxTime), model::kMaxTime);
    if (!drift.is_none()) {
      start = drift.corrected(start);
      end = drift.corrected(end);
    }
    if (start >= window.end || (end <= window.begin && start < window.begin)) continue;
    visit(ScannedEvent{start, end - start, batch.kind[row], batch.name[row].value});
  }
}

}  // namespace stepscope::viewer
