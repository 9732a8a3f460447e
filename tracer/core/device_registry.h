// Which CUDA devices this process uses and which GPUs of the machine they are. The source of CUDA's
// events fills it as it learns of them. The NVML source reads it, because the driver numbers GPUs
// differently.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace stepscope::tracer {

/// Thread-safe; nothing here is on a hot path.
class DeviceRegistry {
 public:
  using Uuid = std::array<uint8_t, 16>;
  /// Owner of the id: a MIG instance is a device of its own.
  enum class UuidOf : uint8_t { kGpu, kMigInstance };
  struct Device {
    int32_t number = 0;  ///< as CUDA numbers it in this process
    std::string uuid;  ///< "GPU-…" or "MIG-…", as NVIDIA's tools write it; empty = not known yet
    bool has_context = false;
  };

  /// A source records CUDA: it will tell devices and contexts. Without one no source does.
  void expect() {
    std::lock_guard const lock(mutex_);
    is_expected_ = true;
    ++version_;
  }
  void add_device(int32_t number, Uuid const& uuid, UuidOf of = UuidOf::kGpu) {
    std::lock_guard const lock(mutex_);
    find(number).uuid = to_text(uuid, of);
    ++version_;
  }
  /// The process has made a context on the device.
  void add_context(int32_t number) {
    std::lock_guard const lock(mutex_);
    find(number).has_context = true;
    ++version_;
  }

  /// Rises with each change.
  [[nodiscard]] uint64_t version() const { return version_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_expected() const {
    std::lock_guard const lock(mutex_);
    return is_expected_;
  }
  /// Devices that the process has a context on and whose UUID is known, in the order in which they
  /// became so.
  [[nodiscard]] std::vector<Device> used() const {
    std::lock_guard const lock(mutex_);
    std::vector<Device> result;
    for (Device const& device : devices_)
      if (device.has_context && !device.uuid.empty()) result.push_back(device);
    return result;
  }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  static std::string to_text(Uuid const& uuid, UuidOf of) {
    constexpr char const* kDigits = "0123456789abcdef";
    std::string text = of == UuidOf::kGpu ? "GPU" : "MIG";
    for (size_t i = 0; i < uuid.size(); ++i) {
      if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += kDigits[uuid[i] >> 4];
      text += kDigits[uuid[i] & 0xF];
    }
    return text;
  }
  Device& find(int32_t number) {
    for (Device& device : devices_)
      if (device.number == number) return device;
    devices_.push_back({number, {}, false});
    return devices_.back();
  }

  mutable std::mutex mutex_;
  std::atomic<uint64_t> version_{0};
  bool is_expected_ = false;
  std::vector<Device> devices_;
};

}  // namespace stepscope::tracer
