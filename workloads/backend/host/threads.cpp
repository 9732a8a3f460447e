// OpenMP's per-thread settings, and the cores of this process; see threads.h.
#include "workloads/backend/host/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

// The two calls of the OpenMP run time that are needed, as the standard declares them: <omp.h> belongs to one compiler, and
// tools that use another do not find it.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace stepscope::workloads::host {

void set_worker_threads(int count) { omp_set_num_threads(count); }

int worker_threads() { return omp_get_max_threads(); }

int online_cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace stepscope::workloads::host
