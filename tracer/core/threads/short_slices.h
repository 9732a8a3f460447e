// Short turns on a core, for threads that a program waits for.
//
// Why: where all cores are busy, a thread that is woken waits some milliseconds for its turn, and
// so does a new one. Since Linux 6.12 a thread may ask for short slices. The scheduler then lets it
// run at once, for no larger a share of the core.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace stepscope::tracer {

void usual_slices();
/// Each thread that the calling one starts while this lives has short slices, for as long as it
/// lives itself. Afterwards the calling thread has the slices of before. Does nothing before
/// Linux 6.12 and for threads of real-time policies.
class ShortSlices {
 public:
  ShortSlices();
  ~ShortSlices();
  ShortSlices(ShortSlices const&) = delete;
  ShortSlices& operator=(ShortSlices const&) = delete;

 private:
  uint64_t before_ns_ = 0;  ///< 0 = nothing was changed
};

/// For another thread of this process, which waits for the calling one and ends then.
void give_short_slices(pid_t thread);

/// For the calling thread, which had short ones and now works without end: among busy threads it
/// would hold up others that have short slices.
void take_usual_slices();

}  // namespace stepscope::tracer
