#include "tracer/core/flight/ring_file.h"

#include <map>

#include "trace/file/codec/event_codec.h"
#include "trace/model/kinds.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using model::EventBatch;
using model::EventKind;

/// Part of it tells as much as all of it.
bool may_be_cut(EventKind kind) {
  return model::is_range(kind) || kind == EventKind::kPhase || kind == EventKind::kInputWait;
}

void copy_row(EventBatch const& from, uint32_t row, uint32_t detail_row, EventBatch& to) {
  to.start.push_back(from.start[row]);
  to.dur.push_back(from.dur[row]);
  to.name.push_back(from.name[row]);
  to.kind.push_back(from.kind[row]);
  to.correlation.push_back(from.correlation[row]);
  model::copy_detail(from.details, model::kind_info(from.kind[row]).table, detail_row, to.details);
}

/// The rows for which `is_wanted`(row) holds.
template <class IsWanted>
EventBatch rows_of(EventBatch const& rows, IsWanted const& is_wanted) {
  std::vector<uint32_t> const details = rows.detail_rows();
  EventBatch kept;
  for (uint32_t row = 0; row < rows.size(); ++row)
    if (is_wanted(row)) copy_row(rows, row, details[row], kept);
  return kept;
}

/// Writes events and counts them.
class RingWriter {
 public:
  RingWriter(RingFile const& ring, file::TraceWriter& writer) : ring_(ring), writer_(writer) {}

  Expected<uint64_t> write() {
    if (auto const done = write_description(); !done) return base::fail_with(done);
    if (auto const done = write_live_memory(); !done) return base::fail_with(done);
    for (KeptBlock const& block : ring_.blocks.events)
      if (auto const done = write_block(block); !done) return base::fail_with(done);
    if (auto const done = write_open_rows(); !done) return base::fail_with(done);
    return events_;
  }

 private:
  Expected<void> write_description() {
    for (KeptBlock const& names : ring_.blocks.names)
      if (auto done = writer_.write_encoded(names.header, names.payload); !done) return done;
    if (auto done = writer_.write_description(ring_.info, ring_.devices, ring_.log); !done)
      return done;
    return writer_.write_tracks(model::TrackId{0}, ring_.tracks);
  }

  Expected<void> write_events(model::TrackId track, EventBatch const& rows) {
    if (rows.empty()) return {};
    events_ += rows.size();
    return writer_.write_events(track, rows);
  }

  Expected<void> write_live_memory() {
    std::map<uint32_t, EventBatch> by_track;
    for (LiveMemory::Allocation const& call : ring_.live)
      by_track[call.track.value].add(EventKind::kMemory, ring_.begin_ns, 0, call.name,
                                     call.correlation, call.detail);
    for (auto const& [track, rows] : by_track)
      if (auto done = write_events(model::TrackId{track}, rows); !done) return done;
    return {};
  }

  Expected<void> write_block(KeptBlock const& block) {
    if (block.header.max_end < ring_.begin_ns) return {};
    if (block.header.min_start >= ring_.begin_ns) {
      events_ += block.header.rows;
      return writer_.write_encoded(block.header, block.payload);
    }

    EventBatch rows;
    uint64_t unknown = 0;
    if (!decoder_.decode(block.payload, block.header.rows, file::current_columns(), {}, rows,
                         unknown))
      return base::fail("a block of the ring cannot be read, please report it");
    return write_events(model::TrackId{block.header.track}, cut_to_begin(rows, ring_.begin_ns));
  }

  Expected<void> write_open_rows() {
    for (auto const& [track, open] : ring_.open) {
      EventBatch const rows = open.copy();
      EventBatch const wanted = rows_of(rows, [&](uint32_t row) {
        return rows.kind[row] != EventKind::kStep || rows.dur[row] >= ring_.least_open_step_ns;
      });
      if (auto done = write_events(track, cut_to_begin(wanted, ring_.begin_ns)); !done) return done;
    }
    return {};
  }

  RingFile const& ring_;
  file::TraceWriter& writer_;
  file::EventDecoder decoder_;
  uint64_t events_ = 0;
};

}  // namespace

EventBatch cut_to_begin(EventBatch const& rows, int64_t begin_ns) {
  EventBatch cut = rows_of(rows, [&](uint32_t row) {
    int64_t const start = rows.start[row];
    return start >= begin_ns || (may_be_cut(rows.kind[row]) && start + rows.dur[row] > begin_ns);
  });

  for (size_t row = 0; row < cut.size(); ++row) {
    if (cut.start[row] >= begin_ns) continue;
    cut.dur[row] -= begin_ns - cut.start[row];
    cut.start[row] = begin_ns;
  }
  return cut;
}

Expected<uint64_t> write_ring(RingFile const& ring, file::TraceWriter& writer) {
  return RingWriter(ring, writer).write();
}

}  // namespace stepscope::tracer
