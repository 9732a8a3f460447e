// Memory that is freed stays with the process: for programs that read large traces one after the
// other and end.
#pragma once

namespace stepscope::base {

/// From now on the C library keeps freed memory and reuses it. It otherwise returns long columns to
/// the kernel, which clears every page of the next one (measured: a third of the time of reading a
/// trace). The first GiB comes in huge pages where the kernel gives them on request: analysing a
/// large run takes a third less time. It does nothing where the C library cannot do that. Not for
/// programs that live long or share the machine's memory with what they measure.
void keep_freed_memory();

/// Gives back to the system what keep_freed_memory() kept: between two parts of the work that need
/// memory of different shape.
void give_back_freed_memory();

}  // namespace stepscope::base
