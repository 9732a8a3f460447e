// How many OpenMP threads the calling thread's parallel work uses. The setting is per thread, so that devices do not disturb
// each other.
#pragma once

namespace stepscope::workloads::host {

void set_worker_threads(int count);
int worker_threads();
/// Cores that this process may use, at least 1.
int available_cores();
/// Cores of the machine.
int online_cores();

/// oneDNN plans a primitive for the number of threads of the thread that creates it: set it while creating.
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
