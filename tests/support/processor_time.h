// The processor time of a test: what other programs of a busy machine take does not count.
#pragma once

#include <ctime>

namespace stepscope::support {

/// Seconds that all threads of this process have had a core.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace stepscope::support
