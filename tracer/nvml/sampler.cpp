#include "tracer/nvml/sampler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stepscope::tracer::nvml {
namespace {

constexpr std::array<std::string_view, kCounters> kNames = {
    "GPU utilization (%)", "memory utilization (%)",
    "memory used (MiB)",   "power (W)",
    "SM clock (MHz)",      "memory clock (MHz)",
    "clock limits (bits)", "temperature (°C)",
    "PCIe sent (MB/s)",    "PCIe received (MB/s)",
    "NVLink sent (MB/s)",  "NVLink received (MB/s)",
    "SM activity (%)",     "tensor activity (%)",
    "DRAM bandwidth (%)",  "power, average of a second (W)"};

constexpr double kMib = 1 << 20;
constexpr double kMbOfMib = kMib / 1e6;
/// Bit of the clocks' reasons: nothing runs, which is no limit.
constexpr unsigned long long kIdle = 1;

struct GpmCounter {
  unsigned metric = 0;
  Counter counter{};
  double scale = 1;
};
constexpr std::array<GpmCounter, 7> kGpmCounters = {
    {{kGpmSmActivity, Counter::kSmActivity},
     {kGpmTensorActivity, Counter::kTensorActivity},
     {kGpmDramBandwidth, Counter::kDramBandwidth},
     {kGpmPcieSent, Counter::kPcieSent, kMbOfMib},
     {kGpmPcieReceived, Counter::kPcieReceived, kMbOfMib},
     {kGpmNvlinkSent, Counter::kNvlinkSent, kMbOfMib},
     {kGpmNvlinkReceived, Counter::kNvlinkReceived, kMbOfMib}}};

bool is_of_links(Counter counter) {
  return counter == Counter::kNvlinkSent || counter == Counter::kNvlinkReceived;
}
bool is_final(Result result) {
  return result == kNotSupported || result == kFunctionNotFound || result == kNoPermission;
}

}  // namespace

std::string_view name_of(Counter counter) { return kNames[static_cast<size_t>(counter)]; }

/// What one device says in one round.
class Sampler::Round {
 public:
  Round(Sampled& device, int64_t now_ns, std::vector<Sample>& samples)
      : device_(device), now_ns_(now_ns), samples_(samples) {}

  void read_all(Api const& api, GpmMetrics& metrics) {
    read_utilization(api);
    read_memory(api);
    read_power(api);

    read<unsigned>(Counter::kSmClock, 1, api.clock_mhz, static_cast<int>(kSmClock));
    read<unsigned>(Counter::kMemoryClock, 1, api.clock_mhz, static_cast<int>(kMemoryClock));
    read_clock_limits(api);
    read<unsigned>(Counter::kTemperature, 1, api.temperature_c, kGpuTemperature);

    read_links(api, 0);
    read_links(api, 1);
    read_gpm(api, metrics);
  }

 private:
  [[nodiscard]] bool wants(Counter counter) const {
    return !device_.lost && !device_.off[static_cast<size_t>(counter)];
  }
  /// Whether the call gave a value; others are remembered where they are final.
  bool worked(Counter counter, Result result) {
    if (result == kGpuIsLost) device_.lost = true;
    if (is_final(result)) device_.off[static_cast<size_t>(counter)] = true;
    if (result == kNoPermission) device_.refused[static_cast<size_t>(counter)] = true;
    return result == kSuccess;
  }
  void add(Counter counter, double value) {
    samples_.push_back({device_.number, counter, value, now_ns_});
  }
  /// One counter of one call: `scale` × the value.
  template <class Value, class Function, class... Arguments>
  void read(Counter counter, double scale, Function* function, Arguments... arguments) {
    if (!wants(counter)) return;
    Value value{};
    if (worked(counter, function != nullptr ? function(device_.handle, arguments..., &value)
                                            : kFunctionNotFound))
      add(counter, scale * static_cast<double>(value));
  }
  Result read_field(Api const& api, unsigned number, unsigned scope, uint64_t& value) const {
    if (api.fields == nullptr) return kFunctionNotFound;
    FieldValue field;
    field.field = number;
    field.scope = scope;
    Result const call = api.fields(device_.handle, 1, &field);
    Result const result = call != kSuccess ? call : field.result;
    if (result == kSuccess) value = field.number();
    return result;
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
  /// The older call tells the average of a second on most GPUs since Ampere: a step is shorter.
  void read_power(Api const& api) {
    constexpr double kWattsOfMw = 1e-3;
    uint64_t milliwatts = 0;
    if (wants(Counter::kPower) &&
        worked(Counter::kPower, read_field(api, kMomentaryPowerMw, 0, milliwatts)))
      add(Counter::kPower, kWattsOfMw * static_cast<double>(milliwatts));
    if (device_.off[static_cast<size_t>(Counter::kPower)])
      read<unsigned>(Counter::kAveragePower, kWattsOfMw, api.power_mw);
  }
  void read_clock_limits(Api const& api) {
    unsigned long long reasons = 0;
    if (!wants(Counter::kClockLimits) || api.clock_limits == nullptr) return;
    if (worked(Counter::kClockLimits, api.clock_limits(device_.handle, &reasons)))
      add(Counter::kClockLimits, static_cast<double>(reasons & ~kIdle));
  }
  void read_links(Api const& api, size_t direction) {
    if (device_.lost || !device_.has_link_totals) return;
    uint64_t kib = 0;
    Result const result =
        read_field(api, direction == 0 ? kNvlinkSentKib : kNvlinkReceivedKib, kAllLinks, kib);

    if (result == kGpuIsLost) device_.lost = true;
    if (is_final(result)) device_.has_link_totals = false;
    if (result != kSuccess) return;

    Total& before = device_.links[direction];
    // A counter that went back was reset.
    if (before.at_ns >= 0 && kib >= before.kib && now_ns_ > before.at_ns)
      add(direction == 0 ? Counter::kNvlinkSent : Counter::kNvlinkReceived,
          static_cast<double>(kib - before.kib) * 1024e3 /
              static_cast<double>(now_ns_ - before.at_ns));

    before = {now_ns_, kib};
  }
  void read_gpm(Api const& api, GpmMetrics& metrics) {
    if (!wants(Counter::kSmActivity) || device_.gpm[1] == nullptr) return;
    std::swap(device_.gpm[0], device_.gpm[1]);

    bool const has_newest =
        worked(Counter::kSmActivity, api.gpm_sample(device_.handle, device_.gpm[1]));
    bool const has_both = has_newest && device_.has_gpm_before;
    device_.has_gpm_before = has_newest;
    if (!has_both) return;

    metrics.version = 1;
    metrics.count = kGpmCounters.size();
    metrics.before = device_.gpm[0];
    metrics.after = device_.gpm[1];
    for (size_t i = 0; i < kGpmCounters.size(); ++i)
      metrics.metrics[i] = {kGpmCounters[i].metric, kSuccess, 0, {}};

    if (!worked(Counter::kSmActivity, api.gpm_metrics(&metrics))) return;
    for (size_t i = 0; i < kGpmCounters.size(); ++i) {
      auto const& [metric, counter, scale] = kGpmCounters[i];
      bool const is_measured = is_of_links(counter) && device_.has_link_totals;
      if (metrics.metrics[i].result == kSuccess && !is_measured)
        add(counter, scale * metrics.metrics[i].value);
    }
  }

  Sampled& device_;
  int64_t const now_ns_;
  std::vector<Sample>& samples_;
};

Sampler::Sampler(Api const& api, std::span<OpenDevice const> devices) : api_(api) {
  for (OpenDevice const& open : devices) {
    Sampled device;
    device.number = open.number;
    device.handle = open.handle;
    open_gpm(device);
    devices_.push_back(device);
  }
}

Sampler::~Sampler() {
  for (Sampled const& device : devices_)
    for (void* const sample : device.gpm)
      if (sample != nullptr && api_.gpm_free != nullptr) api_.gpm_free(sample);
}

bool Sampler::has_hardware_counters() const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](Sampled const& device) { return device.gpm[1] != nullptr; });
}

std::string Sampler::describe_gaps() const {
  std::string text;
  for (Sampled const& device : devices_) {
    if (device.lost)
      text += fmt::format("{}cuda:{} was lost: its counters end early", text.empty() ? "" : "; ",
                          device.number);

    std::string refused;
    for (size_t i = 0; i < kCounters; ++i)
      if (device.refused[i]) refused += fmt::format("{}{}", refused.empty() ? "" : ", ", kNames[i]);
    if (!refused.empty())
      text += fmt::format("{}the driver gives this user no access to {} of cuda:{}",
                          text.empty() ? "" : "; ", refused, device.number);
  }
  return text;
}

void Sampler::open_gpm(Sampled& device) const {
  GpmSupport support;
  bool const has_functions = api_.gpm_support != nullptr && api_.gpm_alloc != nullptr &&
                             api_.gpm_sample != nullptr && api_.gpm_metrics != nullptr &&
                             api_.gpm_free != nullptr;

  if (!has_functions || api_.gpm_support(device.handle, &support) != kSuccess ||
      support.is_supported == 0)
    return;

  for (void*& sample : device.gpm) {
    if (api_.gpm_alloc(&sample) == kSuccess) continue;
    sample = nullptr;
    if (device.gpm[0] != nullptr) api_.gpm_free(std::exchange(device.gpm[0], nullptr));
    return;
  }
}

void Sampler::sample(int64_t now_ns, std::vector<Sample>& samples) {
  for (Sampled& device : devices_) Round(device, now_ns, samples).read_all(api_, metrics_);
}

}  // namespace stepscope::tracer::nvml
