// The part of a trace that a window of time touches: small enough to share, whole enough that what
// lies in the window is analyzed as in the whole trace.
#pragma once

#include <vector>

#include "trace/model/intervals.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// The wanted part of a trace, in trace time. Where the host runs ahead, its part of a step and the
/// device's lie apart.
struct SliceWindow {
  Interval host;    ///< of threads
  Interval device;  ///< of streams and counters; also of the calls by which the host touches the
                    ///< device's memory, and of overhead
  bool with_next_ops = false;  ///< also what tells how the idle time and the communication at its
                               ///< end were over: next_ops()
};

/// Keeps every event that overlaps its window, uncut at the borders. Other events are kept wherever
/// they lie. Launches of kept device ops, device ops of kept launches and the events that enclose
/// those launches on their thread: every op has its launch, every launch its step. Behind the
/// window: the next ops of each stream and what threads did until their launch (next_ops()), but no
/// step. To know the memory in use at the begin: the calls that allocated it and the last memory
/// call before. Tracks keep their ids, events their correlation; devices, process and log stay;
/// unused texts are left out. O(events). `whole`: the steps of the trace, if the caller knows them;
/// a part of a trace keeps those of its whole.
Trace slice(Trace const& trace, SliceWindow const& window, WholeSteps const& whole = {});

/// What the streams that work in the window do behind it: rows, in order of tracks.
struct NextOps {
  std::vector<uint32_t> rows;
  bool are_all_there =
      true;  ///< each of the streams has an op that begins when its device's communication is over
};
/// The ops of each such stream that begin during communication of its device that began in the
/// window, and the op after them. The latter begins by last_begin_of_next() at the latest. They
/// tell what compute hid that communication, or could have hidden it.
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

/// The window that steps need to be analyzed as in the whole trace. The device's part begins with
/// the steps on the host. If a device was idle then, it begins with that idle time, at the end of
/// the device's last work. It ends with the last op that the steps launched. Where the host runs
/// ahead, the device's part thus has what it still had to do. The host's part: the steps, and what
/// it did in that idle time. Ops launched by other threads belong to the steps in whose time they
/// were launched. `steps` must not be empty.
SliceWindow window_of_steps(Trace const& trace, std::vector<ThreadSteps> const& steps);

}  // namespace stepscope::model
