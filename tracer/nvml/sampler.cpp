#include "tracer/nvml/sampler.h"

#include <charconv>
#include <utility>

namespace stepscope::tracer::nvml {
namespace {

constexpr std::array<std::string_view, kCounters> kNames = {
    "GPU utilization (%)", "memory utilization (%)", "memory used (MiB)", "power (W)",           "SM clock (MHz)",
    "memory clock (MHz)",  "clock limits (bits)",    "temperature (°C)",  "PCIe sent (MB/s)",    "PCIe received (MB/s)",
    "NVLink sent (MB/s)",  "NVLink received (MB/s)", "SM activity (%)",   "tensor activity (%)", "DRAM bandwidth (%)"};

constexpr double kMib = 1 << 20;
/// Bit of the clocks' reasons: nothing runs. That is no limit.
constexpr unsigned long long kIdle = 1;

}  // namespace

std::string_view name_of(Counter counter) { return kNames[static_cast<size_t>(counter)]; }

std::vector<DeviceName> visible_devices(char const* variable, unsigned count) {
  std::vector<DeviceName> result;
  if (variable == nullptr) {
    for (unsigned index = 0; index < count; ++index) result.push_back({index, {}});
    return result;
  }
  std::string_view rest = variable;
  while (!rest.empty()) {
    size_t const comma = rest.find(',');
    std::string_view const name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    unsigned index = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    bool const is_number = error == std::errc() && end == name.data() + name.size();
    if (is_number && index < count)
      result.push_back({index, {}});
    else if (name.starts_with("GPU-") || name.starts_with("MIG-"))
      result.push_back({{}, std::string(name)});
    else
      break;
  }
  return result;
}

/// What one device says in one round.
class Sampler::Round {
 public:
  Round(Sampled& device, int64_t now_ns, std::vector<Sample>& samples) : device_(device), now_ns_(now_ns), samples_(samples) {}

  [[nodiscard]] bool wants(Counter counter) const { return !device_.lost && !device_.off[static_cast<size_t>(counter)]; }
  /// Whether the call gave a value; others are remembered where they are final.
  bool worked(Counter counter, Result result) {
    if (result == kGpuIsLost) device_.lost = true;
    if (result == kNotSupported || result == kFunctionNotFound) device_.off[static_cast<size_t>(counter)] = true;
    return result == kSuccess;
  }
  void add(Counter counter, double value) { samples_.push_back({device_.number, counter, value, now_ns_}); }
  /// One counter of one call: `scale` × the value.
  template <class Value, class Function, class... Arguments>
  void read(Counter counter, double scale, Function* function, Arguments... arguments) {
    if (!wants(counter)) return;
    Value value{};
    if (worked(counter, function != nullptr ? function(device_.handle, arguments..., &value) : kFunctionNotFound))
      add(counter, scale * static_cast<double>(value));
  }
  void read_utilization(Api const& api) {
    Utilization rates;
    if (!wants(Counter::kGpuUtilization) || api.utilization == nullptr) return;
    if (!worked(Counter::kGpuUtilization, api.utilization(device_.handle, &rates))) return;
    add(Counter::kGpuUtilization, rates.gpu);
    add(Counter::kMemoryUtilization, rates.memory);
  }
  void read_memory(Api const& api) {
    Memory memory;
    if (!wants(Counter::kMemoryUsed) || api.memory == nullptr) return;
    if (worked(Counter::kMemoryUsed, api.memory(device_.handle, &memory)))
      add(Counter::kMemoryUsed, static_cast<double>(memory.used) / kMib);
  }
  void read_clock_limits(Api const& api) {
    unsigned long long reasons = 0;
    if (!wants(Counter::kClockLimits) || api.clock_limits == nullptr) return;
    if (worked(Counter::kClockLimits, api.clock_limits(device_.handle, &reasons)))
      add(Counter::kClockLimits, static_cast<double>(reasons & ~kIdle));
  }
  void read_nvlink(Api const& api, size_t direction) {
    Counter const counter = direction == 0 ? Counter::kNvlinkSent : Counter::kNvlinkReceived;
    if (!wants(counter) || api.fields == nullptr) return;
    FieldValue field;
    field.field = direction == 0 ? kNvlinkSentKib : kNvlinkReceivedKib;
    field.scope = kAllLinks;
    Result const call = api.fields(device_.handle, 1, &field);
    if (!worked(counter, call != kSuccess ? call : field.result)) return;
    Total& before = device_.nvlink[direction];
    // A counter that went back was reset.
    if (before.at_ns >= 0 && field.value >= before.kib && now_ns_ > before.at_ns)
      add(counter, static_cast<double>(field.value - before.kib) * 1024e3 / static_cast<double>(now_ns_ - before.at_ns));
    before = {now_ns_, field.value};
  }
  void read_gpm(Api const& api, GpmMetrics& metrics) {
    if (!wants(Counter::kSmActivity) || device_.gpm[1] == nullptr) return;
    std::swap(device_.gpm[0], device_.gpm[1]);
    bool const has_newest = worked(Counter::kSmActivity, api.gpm_sample(device_.handle, device_.gpm[1]));
    bool const has_both = has_newest && std::exchange(device_.has_gpm_before, has_newest);
    if (!has_newest) device_.has_gpm_before = false;
    if (!has_both) return;
    constexpr std::array<std::pair<unsigned, Counter>, 3> kWanted = {{{kGpmSmActivity, Counter::kSmActivity},
                                                                      {kGpmTensorActivity, Counter::kTensorActivity},
                                                                      {kGpmDramBandwidth, Counter::kDramBandwidth}}};
    metrics.version = 1;
    metrics.count = kWanted.size();
    metrics.before = device_.gpm[0];
    metrics.after = device_.gpm[1];
    for (size_t i = 0; i < kWanted.size(); ++i) metrics.metrics[i] = {kWanted[i].first, kSuccess, 0, {}};
    if (!worked(Counter::kSmActivity, api.gpm_metrics(&metrics))) return;
    for (size_t i = 0; i < kWanted.size(); ++i)
      if (metrics.metrics[i].result == kSuccess) add(kWanted[i].second, metrics.metrics[i].value);
  }

 private:
  Sampled& device_;
  int64_t const now_ns_;
  std::vector<Sample>& samples_;
};

Sampler::Sampler(Api const& api, std::vector<DeviceName> const& devices) : api_(api) {
  for (size_t i = 0; i < devices.size(); ++i) {
    Sampled device;
    device.number = static_cast<int32_t>(i);
    Result result = kFunctionNotFound;
    if (devices[i].index)
      result = api.device_by_index(*devices[i].index, &device.handle);
    else if (api.device_by_uuid != nullptr)
      result = api.device_by_uuid(devices[i].uuid.c_str(), &device.handle);
    if (result != kSuccess) continue;
    open_gpm(device);
    devices_.push_back(device);
  }
}

Sampler::~Sampler() {
  for (Sampled const& device : devices_)
    for (void* const sample : device.gpm)
      if (sample != nullptr && api_.gpm_free != nullptr) api_.gpm_free(sample);
}

void Sampler::open_gpm(Sampled& device) const {
  GpmSupport support;
  bool const has_functions = api_.gpm_support != nullptr && api_.gpm_alloc != nullptr && api_.gpm_sample != nullptr &&
                             api_.gpm_metrics != nullptr && api_.gpm_free != nullptr;
  if (!has_functions || api_.gpm_support(device.handle, &support) != kSuccess || support.is_supported == 0) return;
  for (void*& sample : device.gpm) {
    if (api_.gpm_alloc(&sample) == kSuccess) continue;
    sample = nullptr;
    if (device.gpm[0] != nullptr) api_.gpm_free(std::exchange(device.gpm[0], nullptr));
    return;
  }
}

void Sampler::sample(int64_t now_ns, std::vector<Sample>& samples) {
  // Throughput of PCIe is measured while one waits, 20 ms a direction: of one device a round.
  for (size_t i = 0; i < devices_.size(); ++i) sample_device(devices_[i], round_ % devices_.size() == i, now_ns, samples);
  ++round_;
}

void Sampler::sample_device(Sampled& device, bool slow, int64_t now_ns, std::vector<Sample>& samples) {
  Round round(device, now_ns, samples);
  round.read_utilization(api_);
  round.read_memory(api_);
  round.read<unsigned>(Counter::kPower, 1e-3, api_.power_mw);
  round.read<unsigned>(Counter::kSmClock, 1, api_.clock_mhz, static_cast<int>(kSmClock));
  round.read<unsigned>(Counter::kMemoryClock, 1, api_.clock_mhz, static_cast<int>(kMemoryClock));
  round.read_clock_limits(api_);
  round.read<unsigned>(Counter::kTemperature, 1, api_.temperature_c, kGpuTemperature);
  round.read_nvlink(api_, 0);
  round.read_nvlink(api_, 1);
  round.read_gpm(api_, metrics_);
  if (!slow) return;
  round.read<unsigned>(Counter::kPcieSent, 1e-3, api_.pcie_kb_per_s, static_cast<int>(kPcieSent));
  round.read<unsigned>(Counter::kPcieReceived, 1e-3, api_.pcie_kb_per_s, static_cast<int>(kPcieReceived));
}

}  // namespace stepscope::tracer::nvml
