// Signals by which a program that does not handle them ends: a crash, abort(), or a request.
// What was recorded until then is written first.
#pragma once

namespace stepscope::tracer {

/// From now on `before` is called with such a signal when it arrives, in the thread that it arrives
/// in. The signal then ends the program as it would have, with the same core dump. A signal that
/// the program handles itself, or ignores, is left to it. With `requests_too` SIGTERM, SIGHUP
/// and SIGINT count, by which batch systems, terminals and people end programs.
/// `before` takes no lock, allocates nothing and returns within a bounded time.
void watch_fatal_signals(void (*before)(int signal), bool requests_too);
/// The program itself has caused it.
bool is_crash_signal(int signal);
/// Signals end the program at once again, but those that it handles itself by now.
void leave_fatal_signals();

}  // namespace stepscope::tracer
