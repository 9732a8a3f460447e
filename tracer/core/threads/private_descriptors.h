// A table of file descriptors that belongs to one thread, where nothing of the program can reach
// it. The threads of a process share one table only because they ask for it; a thread may leave it.
//
// Why: a program may close every descriptor that it did not open (daemons, os.closerange,
// supervisors), and the next file that it opens gets the number of ours. A check before each write
// leaves a window: another thread may close and open between check and write. In a table of its own
// our descriptor has no number that the program could close or be given, there is nothing to check
// and no window. The program's own numbers are what they are without us, forked children and
// executed programs inherit nothing.
#pragma once

#include "trace/base/expected.h"

namespace stepscope::tracer {

inline constexpr int kKeepNone = -1;

/// From now on the calling thread has a table of descriptors of its own, empty but for `kept`;
/// those of the program stay as they are. Errors: the system refuses both ways to do it
/// (close_range, Linux 5.9, and unshare), as sandboxes may; the table is the program's still.
base::Expected<void> take_private_descriptors(int kept = kKeepNone);

}  // namespace stepscope::tracer
