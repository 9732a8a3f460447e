// A signal with which people or a batch system ask for a ring. Its handler only counts: what it
// interrupts goes on.
#pragma once

namespace stepscope::tracer {

/// Installs the handler where the program has none, and the signal would end it.
void watch_signal(int signal);
/// The signal is again what it was; also in a forked child.
void leave_signal();
/// It came since the last call.
bool take_asked_signal();

}  // namespace stepscope::tracer
