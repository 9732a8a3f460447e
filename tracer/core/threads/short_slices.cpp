#include "tracer/core/threads/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

/// The shortest that Linux gives.
constexpr uint64_t kShortSliceNs = 100'000;
/// Asks for what threads have that ask for nothing.
constexpr uint64_t kUsualSlice = 0;

/// What sched_setattr(2) takes; the C library has no declaration of it before glibc 2.41.
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns, deadline_ns, period_ns;
};

constexpr pid_t kThisThread = 0;

/// False where the thread's policy has no slices.
bool get_attributes(pid_t thread, SchedulingAttributes& attributes) {
  attributes = {};
  attributes.size = sizeof attributes;
  if (::syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0) return false;
  return attributes.policy == SCHED_OTHER || attributes.policy == SCHED_BATCH;
}

bool set_slice(pid_t thread, SchedulingAttributes attributes, uint64_t ns) {
  attributes.runtime_ns = ns;
  return ::syscall(SYS_sched_setattr, thread, &attributes, 0) == 0;
}

}  // namespace

ShortSlices::ShortSlices() {
  SchedulingAttributes attributes{};
  // Kernels before 6.12 tell of none.
  if (!get_attributes(kThisThread, attributes) || attributes.runtime_ns <= kShortSliceNs) return;
  if (set_slice(kThisThread, attributes, kShortSliceNs)) before_ns_ = attributes.runtime_ns;
}

/// Only slices that a thread did not ask for follow the system's settings. So the usual ones are
/// tried first.
ShortSlices::~ShortSlices() {
  if (before_ns_ == 0) return;
  SchedulingAttributes attributes{};
  if (!get_attributes(kThisThread, attributes) || !set_slice(kThisThread, attributes, kUsualSlice))
    return;
  if (!get_attributes(kThisThread, attributes) || attributes.runtime_ns == before_ns_) return;
  set_slice(kThisThread, attributes, before_ns_);
}

void give_short_slices(pid_t thread) {
  SchedulingAttributes attributes{};
  if (get_attributes(thread, attributes)) set_slice(thread, attributes, kShortSliceNs);
}

void take_usual_slices() {
  SchedulingAttributes attributes{};
  if (get_attributes(kThisThread, attributes)) set_slice(kThisThread, attributes, kUsualSlice);
}

}  // namespace stepscope::tracer
