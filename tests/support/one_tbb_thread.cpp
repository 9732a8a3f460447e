// Linked into the tests that run under the thread sanitizer: oneTBB is not compiled with it, so
// what its threads hand over to each other looks like a race. With one thread its loops run on the
// caller's; what these tests are about are the threads of ours.
#include <oneapi/tbb/global_control.h>

namespace {

oneapi::tbb::global_control const one_thread(oneapi::tbb::global_control::max_allowed_parallelism,
                                             1);

}  // namespace
