// Spans of the timeline, thinned per view: neighbours closer than the view can show become one
// block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/page.h"

namespace stepscope::reports {

/// Colour classes of the timeline's spans; the script's list is in the same order.
enum class SpanClass : uint8_t {
  kCompute,
  kComm,
  kCopy,
  kInput,
  kSync,
  kMemory,
  kOverhead,
  kPhase,
  kStep,
  kLaunch
};
inline constexpr int kSpanClassCount = 10;

/// One event, or a block of neighbours: the class that takes most of its time.
struct Span {
  int64_t begin, end;  ///< trace time
  SpanClass cls;
  uint32_t row;  ///< of the event, or of the block's longest
  uint32_t count;
};

/// Which events of a track a row shows.
enum class RowContent : uint8_t { kDeviceOps, kHostWaits, kPhases, kSteps, kRanges };

/// "compute" of a stream named "device 0 compute" on device 0, for rows that name the device.
std::string stream_label(model::Track const& track);

/// Events of `rows` that touch `window` (trace time), thinned to at most about 2 × columns spans.
std::vector<Span> thinned_spans(model::Trace const& trace, model::Trace::Rows rows,
                                RowContent content, model::Interval window, int columns);

/// Fills the timeline of a page that has its views. It calls `read` twice for a process with
/// visible rows, once for the others. One process is in memory at a time. Errors: those of reading.
base::Expected<Timeline> make_timeline(Page const& page, ReadProcess const& read);

}  // namespace stepscope::reports
