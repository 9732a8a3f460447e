// Where processes of a small training wait for each other, without MPI.
#pragma once

#include <atomic>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stepscope::tracer {

/// A point that no process leaves before all have come, as with a collective.
class SharedBarrier {
 public:
  /// `file`: the same for all processes; it is made by the first.
  SharedBarrier(char const* file, int processes) : processes_(processes) {
    int const opened = ::open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0 || ::ftruncate(opened, sizeof(std::atomic<int>)) != 0) std::_Exit(3);
    void* const memory =
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    if (memory == MAP_FAILED) std::_Exit(3);
    arrived_ = static_cast<std::atomic<int>*>(memory);
    ::close(opened);
  }
  void meet() {
    ++arrived_here_;
    arrived_->fetch_add(1);
    while (arrived_->load() < arrived_here_ * processes_) std::this_thread::yield();
  }

 private:
  int const processes_;
  int arrived_here_ = 0;
  std::atomic<int>* arrived_ = nullptr;
};

}  // namespace stepscope::tracer
