// glibc opens a file when free() first gives memory of a thread's heap back to the system:
// /proc/sys/vm/overcommit_memory (check_may_shrink_heap() in its malloc-sysdep.h). It does so on
// the thread that is in free(), and remembers the answer. A thread of ours may have the program's
// descriptors. Then the program may close that file and open its own, which gets the same number.
// glibc closes that number next, and so the program's file.
#pragma once

namespace stepscope::tracer {

/// Has glibc read that file now. To be called on a thread with descriptors of its own, before a
/// thread of ours with the program's frees memory. Takes addresses for 48 MB at most and a page for
/// every 96 KB of them, and gives both back. Does nothing with other allocators, without memory,
/// and on a thread that shares the main heap (glibc gives out eight heaps a core).
void read_files_of_free();

}  // namespace stepscope::tracer
