// Arrays of a device and page-locked memory of the host.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_doubles/device/activity.h"
#include "tests/cuda_doubles/driver/state.h"

namespace stepscope::cuda_doubles {
namespace {

constexpr size_t kPage = 4096;
constexpr uint8_t kDeviceMemory = 3;  // CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
// Every float of it is not a number: what no kernel wrote shows.
constexpr int kPoison = 0xFF;

size_t round_up(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
uint64_t address_of(void const* data) { return reinterpret_cast<uint64_t>(data); }

}  // namespace

/// Between two pages that no kernel may touch, as compute-sanitizer's memcheck would find it.
cudaError_t DriverEngine::allocate(void** data, size_t bytes) {
  int const device = current_device();
  set_current_device(device);
  {
    HiddenLock const lock(mutex_);
    if (used_bytes_[index_of(device)] + bytes > memory_bytes_) return cudaErrorMemoryAllocation;
    used_bytes_[index_of(device)] += bytes;
  }

  size_t const body = round_up(bytes);
  void* const map = ::mmap(nullptr, body + 2 * kPage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* const first = static_cast<char*>(map) + kPage;
  ::mprotect(map, kPage, PROT_NONE);
  ::mprotect(first + body, kPage, PROT_NONE);
  constexpr size_t kMostPoisoned = size_t{64} << 20U;  // a device's arena: its pages stay unused
  std::memset(first, kPoison, std::min(body, kMostPoisoned));
  *data = first;

  {
    HiddenLock const lock(mutex_);
    arrays_[address_of(first)] = {bytes, device};
  }
  if (Activity* const all = activity())
    all->devices[index_of(number_on_machine(device))].used_bytes += static_cast<int64_t>(bytes);
  if (Observer* const tool = observer_)
    tool->memory_changed(
        {true, address_of(first), bytes, kDeviceMemory, device, current_correlation()});
  return cudaSuccess;
}

/// Waits for the device, as the real one does ("Memory Management", cudaFree).
cudaError_t DriverEngine::free(void* data) {
  if (data == nullptr) return cudaSuccess;
  Array array;
  {
    HiddenLock const lock(mutex_);
    auto const found = arrays_.find(address_of(data));
    if (found == arrays_.end()) return cudaErrorInvalidValue;
    array = found->second;
  }
  for (Stream* const stream : streams_of(array.device)) drain(*stream);

  {
    HiddenLock const lock(mutex_);
    arrays_.erase(address_of(data));
    used_bytes_[index_of(array.device)] -= array.bytes;
  }
  if (Activity* const all = activity())
    all->devices[index_of(number_on_machine(array.device))].used_bytes -=
        static_cast<int64_t>(array.bytes);
  ::munmap(static_cast<char*>(data) - kPage, round_up(array.bytes) + 2 * kPage);

  if (Observer* const tool = observer_)
    tool->memory_changed(
        {false, address_of(data), array.bytes, kDeviceMemory, array.device, current_correlation()});
  return cudaSuccess;
}

cudaError_t DriverEngine::pin(void* data, size_t bytes) {
  HiddenLock const lock(mutex_);
  uint64_t const begin = address_of(data), end = begin + bytes;
  for (auto const& [other, size] : pinned_)
    if (other < end && begin < other + size) return cudaErrorHostMemoryAlreadyRegistered;
  pinned_[begin] = bytes;
  return cudaSuccess;
}

/// Whether the real one waits for copies under way is not documented: DOUBLE_CUDA_UNPIN_WAITS=1
/// makes this one wait.
cudaError_t DriverEngine::unpin(void* data) {
  if (number_of_knob("DOUBLE_CUDA_UNPIN_WAITS", 0) != 0) synchronize_device();
  HiddenLock const lock(mutex_);
  return pinned_.erase(address_of(data)) == 0 ? cudaErrorHostMemoryNotRegistered : cudaSuccess;
}

bool DriverEngine::is_pinned(void const* data, size_t bytes) const {
  HiddenLock const lock(mutex_);
  auto after = pinned_.upper_bound(address_of(data));
  if (after == pinned_.begin()) return false;
  auto const& [begin, size] = *--after;
  return address_of(data) + bytes <= begin + size;
}

int DriverEngine::device_of(void const* data, size_t bytes) const {
  HiddenLock const lock(mutex_);
  auto after = arrays_.upper_bound(address_of(data));
  if (after == arrays_.begin()) return -1;
  auto const& [begin, array] = *--after;
  return address_of(data) + bytes <= begin + array.bytes ? array.device : -1;
}

void DriverEngine::memory_info(size_t* free_bytes, size_t* total_bytes) const {
  HiddenLock const lock(mutex_);
  *total_bytes = memory_bytes_;
  *free_bytes = memory_bytes_ - used_bytes_[index_of(current_device())];
}

}  // namespace stepscope::cuda_doubles
