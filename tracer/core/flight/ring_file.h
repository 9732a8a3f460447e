// A ring as a trace file: what was kept of the last while, with what it needs of the time before.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/writer.h"
#include "trace/model/trace.h"
#include "tracer/core/flight/recent_blocks.h"
#include "tracer/core/rows/live_memory.h"
#include "tracer/core/rows/row_batch.h"

namespace stepscope::tracer {

struct RingFile {
  model::TraceInfo info;
  std::vector<model::Device> devices;
  std::vector<model::Track> tracks;
  model::ImportLog log;

  /// Where the file begins, trace time. Ranges of the host that began earlier and lasted longer
  /// begin here; nothing else that began earlier is in the file.
  int64_t begin_ns = INT64_MIN;
  std::vector<LiveMemory::Allocation> live;  ///< at begin_ns, where they are in the file
  KeptBlocks blocks;
  std::vector<std::pair<model::TrackId, RowBatch>> open;  ///< what had not ended
  /// A step that had not ended is in the file when it has lasted so long.
  int64_t least_open_step_ns = INT64_MAX;
};

/// All of it, but not the file's end. Returns how many events that are. Errors: those of the
/// writer.
base::Expected<uint64_t> write_ring(RingFile const& ring, file::TraceWriter& writer);

/// The part of the rows that is in a file which begins there.
model::EventBatch cut_to_begin(model::EventBatch const& rows, int64_t begin_ns);

}  // namespace stepscope::tracer
