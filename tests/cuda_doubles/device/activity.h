// What the devices of all processes have done so far, in a file that processes map. A monitor reads
// it in a process of its own, as NVML is read by `stepscope record`. DOUBLE_CUDA_ACTIVITY names the
// file; without it nothing is kept.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace stepscope::cuda_doubles {

/// Sums since the file was made; a process that is killed leaves its memory in `used_bytes`.
struct DeviceActivity {
  std::atomic<int64_t> busy_ns;         ///< of kernels, those of several streams added up
  std::atomic<int64_t> received_bytes;  ///< copied from the host
  std::atomic<int64_t> sent_bytes;      ///< copied to the host
  std::atomic<int64_t> used_bytes;      ///< now
};

struct Activity {
  static constexpr size_t kMaxDevices = 16;
  std::array<DeviceActivity, kMaxDevices> devices;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "processes share it");

/// Null when no file is named or it cannot be mapped. A fresh file is all zeros.
inline Activity* activity() {
  static Activity* const one = []() -> Activity* {
    char const* const path = std::getenv("DOUBLE_CUDA_ACTIVITY");
    if (path == nullptr || *path == '\0') return nullptr;
    constexpr mode_t kOwn = 0600;
    int const file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, kOwn);
    if (file < 0) return nullptr;

    bool const has_size = ::ftruncate(file, sizeof(Activity)) == 0;
    void* const map =
        has_size ? ::mmap(nullptr, sizeof(Activity), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                 : MAP_FAILED;
    ::close(file);
    return map == MAP_FAILED ? nullptr : static_cast<Activity*>(map);
  }();
  return one;
}

}  // namespace stepscope::cuda_doubles
