// The blocks that show a file from afar: the summary of each track, and where its steps are.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/column_table.h"
#include "trace/model/summary/track_summary.h"

namespace stepscope::file {

/// One training step, as the host marked it.
struct StepSpan {
  model::TrackId track;
  int64_t start = 0, dur = 0;  ///< ns, trace time
  int64_t index = 0;           ///< of the step in the job
  friend bool operator==(StepSpan const&, StepSpan const&) = default;
};

/// Appends the payload of a summary block; its header has the number of bins as rows and the end of
/// the last bin as max_end.
void encode_summary(model::TrackSummary const& summary, ColumnEncoder& columns,
                    base::ByteWriter& out);
/// Most bins that the summary of so many events has.
uint64_t max_bins(uint64_t events);
/// False when damaged, or when its bins are none (not ascending, busier than they are long). The
/// caller bounds `bins`.
bool decode_summary(base::ByteSpan payload, uint32_t bins, int64_t end,
                    model::TrackSummary& summary);

/// Appends the payload of a steps block; its header has the number of steps as rows.
void encode_steps(std::vector<StepSpan> const& steps, ColumnEncoder& columns,
                  base::ByteWriter& out);
/// False when damaged.
bool decode_steps(base::ByteSpan payload, uint32_t count, std::vector<StepSpan>& steps);

}  // namespace stepscope::file
