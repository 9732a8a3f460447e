// OpenMP's and the scheduler's per-thread settings, and the cores of this process; see threads.h.
#include "workloads/backend/host/threads.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

// The two calls of the OpenMP run time that are needed, as the standard declares them: <omp.h>
// belongs to one compiler, and tools that use another do not find it.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace stepscope::workloads::host {

void set_worker_threads(int count) { omp_set_num_threads(count); }

int worker_threads() { return omp_get_max_threads(); }

int online_cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

namespace {

/// What sched_setattr(2) takes; the C library has no declaration of it before glibc 2.41.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  ///< ns; of SCHED_OTHER: the time slice
  uint64_t deadline = 0, period = 0;
};

std::vector<int> available_core_ids() {
  std::vector<int> ids;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return ids;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) ids.push_back(core);
  }
  return ids;
}

}  // namespace

std::vector<int> cores_of_device(uint32_t index, uint32_t devices) {
  std::vector<int> const all = available_core_ids();
  if (devices < 2 || devices > all.size()) return {};
  auto const bound = [&](uint32_t i) {
    return all.begin() + static_cast<ptrdiff_t>(all.size() * i / devices);
  };
  return {bound(index), bound(index + 1)};
}

void stay_on_cores(std::vector<int> const& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int const core : cores) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // where it is not allowed, the thread runs where it may
}

void wake_up_soon() {
  constexpr uint64_t kShortestSliceNs = 100'000;  // the least that Linux grants
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.size = sizeof attributes;
  attributes.runtime = kShortestSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);  // a hint: what refuses it is as before
}

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace stepscope::workloads::host
