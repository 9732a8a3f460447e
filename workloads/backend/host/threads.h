// How many OpenMP threads the calling thread's parallel work uses, on which cores, and how soon it
// gets one. The settings are per thread, so that devices do not disturb each other.
#pragma once

#include <cstdint>
#include <vector>

namespace stepscope::workloads::host {

void set_worker_threads(int count);
int worker_threads();
/// Cores that this process may use, at least 1.
int available_cores();
/// Cores of the machine.
int online_cores();

/// Numbers of the cores that device `index` of `devices` has for itself: an equal share of the
/// cores that this process may use. Empty where there are fewer cores than devices, or where the
/// only device has all.
std::vector<int> cores_of_device(uint32_t index, uint32_t devices);
/// The calling thread, and those that it starts from now on, run on these cores; on any where
/// `cores` is empty.
void stay_on_cores(std::vector<int> const& cores);
/// The calling thread works for moments between waits, and others wait for it. When it wakes up it
/// goes before a thread that computes without end, instead of after that one's time slice. Its
/// share of the core stays the same. Linux 6.12 and newer, else nothing happens.
void wake_up_soon();

/// oneDNN plans a primitive for the number of threads of the thread that creates it: set it while
/// creating.
class ScopedWorkerThreads {
 public:
  explicit ScopedWorkerThreads(int count) : before_(worker_threads()) { set_worker_threads(count); }
  ~ScopedWorkerThreads() { set_worker_threads(before_); }
  ScopedWorkerThreads(ScopedWorkerThreads const&) = delete;
  ScopedWorkerThreads& operator=(ScopedWorkerThreads const&) = delete;

 private:
  int before_;
};

}  // namespace stepscope::workloads::host
