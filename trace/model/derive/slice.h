// The part of a trace that a window of time touches: small enough to share, whole enough that what
// lies in the window is analyzed as in the whole trace.
#pragma once

#include <vector>

#include "trace/model/intervals.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// What of a trace is wanted, in trace time. Where the host runs ahead, its part of a step and the
/// device's lie apart.
struct SliceWindow {
  Interval host;    ///< of threads
  Interval device;  ///< of streams and counters; also of the calls by which the host touches the
                    ///< device's memory, and of overhead
  bool with_next_ops = false;  ///< also what tells how the idle time and the communication at its
                               ///< end were over: next_ops()
};

/// Keeps every event of which any part lies in its window, whole: nothing is cut in half at the
/// borders. Also kept, wherever they lie: the launches of kept device ops, the device ops of kept
/// launches, and the events of their thread that enclose those launches, so that every op still has
/// its launch and every launch its step; behind the window the next ops of each stream and what
/// threads did until those were launched (next_ops()), but no step; and, so that it is known what
/// memory is there when the window begins, the calls that allocated what is live then and the last
/// memory call before it. Tracks keep their ids, events their correlation; devices, process and log
/// stay; texts that nothing uses any longer are left out. O(events). `whole`: the steps of the
/// trace, for those who know them; of a part of a trace those of its whole stay.
Trace slice(Trace const& trace, SliceWindow const& window, WholeSteps const& whole = {});

/// What the streams that work in the window do behind it: rows, in order of tracks.
struct NextOps {
  std::vector<uint32_t> rows;
  bool are_all_there =
      true;  ///< each of the streams has an op that begins when its device's communication is over
};
/// Of each such stream the ops that begin while communication of its device that began in the
/// window goes on, and the one after them, if they begin by last_begin_of_next(). They tell what
/// compute hid that communication, or could have hidden it.
NextOps next_ops(Trace const& trace, Interval window);
/// Four windows behind it: for a stream that comes to rest nothing is looked for through the whole
/// trace.
int64_t last_begin_of_next(Interval window);

/// Steps of one thread, as the host marked them: from the begin of the first to the end of the
/// last, trace time.
struct ThreadSteps {
  TrackId thread;
  Interval when;
};

/// The window that steps need to be analyzed as in the whole trace. Device: from the steps' begin
/// on the host, or, when a device was idle then, from the end of its last work, where that idle
/// time began; to the end of the last op that they launched. Where the host runs ahead, the
/// device's part thus has what it still had to do. Host: the steps, and what it did in that idle
/// time. Ops launched by other threads belong to the steps in whose time they were launched.
/// `steps` must not be empty.
SliceWindow window_of_steps(Trace const& trace, std::vector<ThreadSteps> const& steps);

}  // namespace stepscope::model
