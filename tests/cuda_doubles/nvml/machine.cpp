#include "tests/cuda_doubles/nvml/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/cuda_doubles/device/visible_devices.h"

namespace stepscope::cuda_doubles {
namespace {

using tracer::nvml::kDriverNotLoaded;
using tracer::nvml::kFunctionNotFound;
using tracer::nvml::kGpuIsLost;
using tracer::nvml::kNoPermission;
using tracer::nvml::kSuccess;
using tracer::nvml::Result;

int64_t steady_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// The number behind "NAME:" in the comma-separated list of a knob; −1 = the name is not listed.
int64_t listed_number(char const* knob, std::string const& name) {
  char const* const text = std::getenv(knob);
  if (text == nullptr) return -1;
  std::string const list = "," + std::string(text), key = "," + name + ":";
  size_t const at = list.find(key);
  return at == std::string::npos ? -1 : std::atoll(list.c_str() + at + key.size());
}

}  // namespace

NvmlMachine& nvml_machine() {
  static auto* const one = new NvmlMachine;  // threads of a monitor outlive main()
  return *one;
}

NvmlMachine::NvmlMachine()
    : count_(static_cast<unsigned>(std::clamp<int64_t>(number_of_knob("DOUBLE_CUDA_DEVICES", 1), 0,
                                                       Activity::kMaxDevices))) {
  for (unsigned number = 0; number < count_; ++number) {
    gpus_[number].number = instances_[number].number = number;
    gpus_[number].uuid = uuid_text(static_cast<int>(number), false);
    instances_[number].is_instance = true;
    instances_[number].uuid = uuid_text(static_cast<int>(number), true);
  }
}

/// A machine without a GPU has no driver that runs (nvml.h, nvmlInit_v2: DRIVER_NOT_LOADED).
Result NvmlMachine::init() {
  ++inits_;
  Result const result = count_ == 0 ? kDriverNotLoaded : enter("nvmlInit_v2");
  if (result != kSuccess) --inits_;
  return result;
}

/// The last of as many calls as there were of init() ends it (nvml.h, nvmlShutdown).
Result NvmlMachine::shutdown() {
  if (inits_ == 0) return kUninitialized;
  --inits_;
  return kSuccess;
}

/// DOUBLE_NVML_LOST=1:20 loses GPU 1 at its 21st call.
bool NvmlMachine::is_lost(NvmlDevice& device) const {
  int64_t const limit = listed_number("DOUBLE_NVML_LOST", std::to_string(device.number));
  return limit >= 0 && ++device.calls > limit;
}

Result NvmlMachine::enter(char const* function, NvmlDevice* device) {
  if (inits_ == 0) return kUninitialized;
  int64_t const delay_ms = listed_number("DOUBLE_NVML_DELAYS", function);
  if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));

  if (knob_lists("DOUBLE_NVML_MISSING", function)) return kFunctionNotFound;
  if (knob_lists("DOUBLE_NVML_REFUSED", function)) return kNoPermission;
  if (device != nullptr && is_lost(*device)) return kGpuIsLost;
  return kSuccess;
}

NvmlDevice* NvmlMachine::find(tracer::nvml::Device device) {
  for (auto* const all : {&gpus_, &instances_})
    for (unsigned number = 0; number < count_; ++number)
      if (&(*all)[number] == device) return &(*all)[number];
  return nullptr;
}

NvmlDevice* NvmlMachine::find(std::string const& uuid) {
  for (unsigned number = 0; number < count_; ++number) {
    if (gpus_[number].uuid == uuid) return &gpus_[number];
    if (has_instances_ && instances_[number].uuid == uuid) return &instances_[number];
  }
  return nullptr;
}

NvmlDevice* NvmlMachine::by_index(unsigned index) {
  if (index >= count_) return nullptr;
  return &gpus_[is_reversed_ ? count_ - 1 - index : index];
}

LoadSample NvmlMachine::load_of(NvmlDevice const& device) {
  Activity const* const all = activity();
  if (all == nullptr) return {steady_ns(), 0, 0, 0};
  DeviceActivity const& one = all->devices[device.number];
  return {steady_ns(), one.busy_ns, one.received_bytes, one.sent_bytes};
}

int64_t NvmlMachine::used_bytes(NvmlDevice const& device) {
  Activity const* const all = activity();
  return all == nullptr ? 0 : all->devices[device.number].used_bytes.load();
}

/// The period is between 1/6 s and 1 s, by product (nvml.h, nvmlUtilization_t).
unsigned NvmlMachine::utilization(NvmlDevice& device) {
  constexpr int64_t kPeriodNs = 166'666'666, kPercent = 100;
  LoadSample const now = load_of(device);
  std::lock_guard const lock(device.mutex);

  int64_t const past_ns = now.at_ns - device.at_ns;
  if (past_ns < kPeriodNs) return device.percent;
  int64_t const busy_ns = now.busy_ns - device.busy_ns;
  device.percent = static_cast<unsigned>(
      std::clamp<int64_t>(kPercent * busy_ns / past_ns, busy_ns > 0 ? 1 : 0, kPercent));
  device.at_ns = now.at_ns;
  device.busy_ns = now.busy_ns;
  return device.percent;
}

}  // namespace stepscope::cuda_doubles
