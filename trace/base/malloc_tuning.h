// Memory that is freed stays with the process: for programs that read large traces one after the
// other and end.
#pragma once

namespace stepscope::base {

/// From now on the C library keeps what is freed and gives it out again, instead of handing long
/// columns back to the kernel, which would have to clear every page of the next one (measured: a
/// third of the time of reading a trace). Does nothing where the C library cannot do that. Not for
/// programs that live long or share the machine's memory with what they measure.
void keep_freed_memory();

/// Gives back to the system what keep_freed_memory() kept: between two parts of the work that need
/// memory of different shape.
void give_back_freed_memory();

}  // namespace stepscope::base
