#include "analyzer/metrics/telemetry/device_telemetry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "trace/base/hash_number.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using What = CounterMeaning::What;

/// A value of a counter and when it applied.
struct CounterSpan {
  Interval when;
  double value;
};
using Curve = std::vector<CounterSpan>;  // by time, disjoint
using Weighted = std::vector<std::pair<double, int64_t>>;

/// Each sample holds until the next, the last one until `end`.
Curve curve_of(DeviceOps const& device, DeviceCounter const& source, int64_t end) {
  Curve curve;
  model::Trace const& trace = device.trace();
  model::Trace::Rows const rows = trace.rows_of(source.track);

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (trace.kind(row) != EventKind::kSample) continue;
    double const value = trace.detail<model::SampleDetail>(row).value * source.meaning.scale;
    if (!std::isfinite(value)) continue;

    int64_t const begin = device.start(row);
    if (!curve.empty()) curve.back().when.end = begin;
    curve.push_back({{begin, std::max(begin, end)}, value});
  }

  std::erase_if(curve, [](CounterSpan const& span) { return span.when.begin >= span.when.end; });
  return curve;
}

Interval overlap_of(Interval a, Interval b) {
  int64_t const begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// The least value that at least `share` of all weight does not pass. Weights are > 0, there is
/// one.
double weighted_quantile(Weighted& values, double share) {
  std::sort(values.begin(), values.end());
  int64_t all = 0, sum = 0;
  for (auto const& [value, weight] : values) all += weight;
  auto const wanted = static_cast<int64_t>(std::ceil(share * static_cast<double>(all)));
  for (auto const& [value, weight] : values)
    if ((sum += weight) >= wanted) return value;
  return values.back().first;
}

Weighted weights_in(Curve const& curve, Interval window) {
  Weighted values;
  for (CounterSpan const& span : curve)
    if (int64_t const length = overlap_of(span.when, window).length(); length > 0)
      values.emplace_back(span.value, length);
  return values;
}

Weighted busy_weights(Curve const& curve, model::IntervalSet const& busy, Interval window) {
  Weighted values;
  for (CounterSpan const& span : curve) {
    Interval const when = overlap_of(span.when, window);
    int64_t const length = when.length() > 0 ? measure_in(busy, when) : 0;
    if (length > 0) values.emplace_back(span.value, length);
  }
  return values;
}

std::optional<TelemetryStats::Spread> spread_of(Curve const& curve, Interval window) {
  Weighted values = weights_in(curve, window);
  if (values.empty()) return std::nullopt;
  double const median = weighted_quantile(values, 0.5);  // sorts
  return TelemetryStats::Spread{values.front().first, median, values.back().first};
}

/// NVML's reasons for a clock (nvmlClocksEventReasons): idleness (1), settings (2, 256) are no
/// limits.
uint32_t limits_of(CounterMeaning const& meaning, double value) {
  constexpr std::array<std::pair<uint64_t, ClockLimit>, 6> kBits = {
      {{0x04, ClockLimit::kPowerCap},
       {0x08, ClockLimit::kHardware},
       {0x10, ClockLimit::kSyncBoost},
       {0x20, ClockLimit::kThermal},
       {0x40, ClockLimit::kThermal},
       {0x80, ClockLimit::kPowerBrake}}};
  auto const flag = [](ClockLimit limit) { return 1U << static_cast<uint32_t>(limit); };
  if (!meaning.is_mask) return value != 0 ? flag(ClockLimit::kUnknown) : 0;

  constexpr double kMostBits = 4294967296.0;  // beyond, it is no mask
  if (value < 0 || value >= kMostBits) return 0;
  auto const bits = static_cast<uint64_t>(value);
  uint32_t limits = 0;
  for (auto const& [bit, limit] : kBits)
    if ((bits & bit) != 0) limits |= flag(limit);
  return limits;
}

/// Fewer values of the busy time do not show which clock it sustains.
constexpr size_t kFewestClocks = 10;
constexpr double kSustainedShare = 0.95;

/// What follows from the SM clock.
class ClockStudy {
 public:
  ClockStudy(DeviceOps const& device, DeviceSets const& sets, Curve const& clock)
      : device_(device), sets_(sets), clock_(clock) {}

  void add_to(TelemetryStats& facts, Interval window, std::vector<StepStats> const& steps) {
    if (sets_.busy.empty()) return;
    Interval const all{sets_.busy.front().begin, sets_.busy.back().end};
    Weighted values = busy_weights(clock_, sets_.busy, all);
    if (values.size() < kFewestClocks) return;
    sustained_ = weighted_quantile(values, kSustainedShare);
    if (sustained_ <= 0) return;

    facts.sustained_clock_mhz = sustained_;
    if (Weighted of_window = busy_weights(clock_, sets_.busy, window); !of_window.empty())
      facts.busy_clock_mhz = weighted_quantile(of_window, 0.5);

    std::vector<Interval> low;
    for (CounterSpan const& span : clock_)
      if (is_low(span)) low.push_back(span.when);
    low_ = model::unite(std::move(low));
    is_known_ = true;
    if (low_.empty()) return;
    facts.kernel_slowdown = slowdown();
    if (facts.kernel_slowdown) add_slow_steps(facts, window, steps);
  }
  [[nodiscard]] bool is_known() const { return is_known_; }
  [[nodiscard]] model::IntervalSet const& low() const { return low_; }

 private:
  [[nodiscard]] bool is_low(CounterSpan const& span) const {
    return span.value < kLowClock * sustained_;
  }
  [[nodiscard]] double lost_share(CounterSpan const& span) const {
    return std::clamp(1 - span.value / sustained_, 0.0, 1.0);
  }

  struct Durations {
    double low_ns = 0, high_ns = 0;
    uint32_t low = 0, high = 0;
  };
  /// The same kernels: the same name and launch shape.
  [[nodiscard]] uint64_t key_of(uint32_t row) const {
    auto const& detail = device_.trace().detail<model::KernelDetail>(row);
    uint64_t key = device_.trace().columns().name[row].value;
    for (uint32_t const size : {detail.grid_x, detail.grid_y, detail.grid_z, detail.block_x,
                                detail.block_y, detail.block_z})
      key = base::mixed_bits(key ^ base::mixed_bits(size));
    return key;
  }

  [[nodiscard]] std::optional<double> slowdown() const {
    /// A clock counts as high from here on. Between this and kLowClock it counts as neither.
    constexpr double kHighClock = 0.95;
    /// Calls of a kernel at each clock: a single one may have been slow for a reason of its own.
    constexpr uint32_t kFewestCalls = 3;

    std::unordered_map<uint64_t, Durations, base::HashNumber> kernels;
    size_t at = 0;
    for (uint32_t const row : device_.ops) {
      Interval const when = device_.when(row);
      while (at < clock_.size() && clock_[at].when.end <= when.begin) ++at;
      if (at == clock_.size()) break;
      CounterSpan const& span = clock_[at];
      bool const is_high = span.value >= kHighClock * sustained_;
      if (device_.trace().kind(row) != EventKind::kKernel || when.begin < span.when.begin ||
          when.end > span.when.end)
        continue;
      if (!is_low(span) && !is_high) continue;
      Durations& of_kernel = kernels[key_of(row)];
      (is_high ? of_kernel.high_ns : of_kernel.low_ns) += static_cast<double>(when.length());
      ++(is_high ? of_kernel.high : of_kernel.low);
    }

    double low_ns = 0, expected_ns = 0;
    for (auto const& [key, of_kernel] : kernels) {
      if (of_kernel.low < kFewestCalls || of_kernel.high < kFewestCalls) continue;
      low_ns += of_kernel.low_ns;
      expected_ns += of_kernel.high_ns / of_kernel.high * of_kernel.low;
    }
    return expected_ns > 0 ? std::optional(low_ns / expected_ns) : std::nullopt;
  }

  void add_slow_steps(TelemetryStats& facts, Interval window,
                      std::vector<StepStats> const& steps) const {
    std::vector<Interval> windows;
    for (StepStats const& step : steps)
      if (!step.warmup) windows.push_back(step.window);
    if (steps.empty()) windows.push_back(window);

    std::vector<double> lost(windows.size());
    double all_low = 0, all_lost = 0;
    size_t first = 0;
    for (CounterSpan const& span : clock_) {
      while (first < windows.size() && windows[first].end <= span.when.begin) ++first;
      if (!is_low(span)) continue;
      for (size_t w = first; w < windows.size() && windows[w].begin < span.when.end; ++w) {
        Interval const when = overlap_of(span.when, windows[w]);
        if (when.length() <= 0) continue;
        auto const compute = static_cast<double>(measure_in(sets_.compute, when));
        lost[w] += compute * lost_share(span);
        all_low += compute;
        all_lost += compute * lost_share(span);
      }
    }

    if (all_lost <= 0 || *facts.kernel_slowdown <= 1) return;
    // Kernels that wait for memory lose less than the clock does.
    double const shown = all_low * (1 - 1 / *facts.kernel_slowdown);
    double const part = std::min(1.0, shown / all_lost);
    for (size_t w = 0; w < windows.size(); ++w)
      if (int64_t const ns = std::llround(lost[w] * part); ns > 0)
        facts.slow_steps.push_back({windows[w], ns});
  }

  DeviceOps const& device_;
  DeviceSets const& sets_;
  Curve const& clock_;
  double sustained_ = 0;
  bool is_known_ = false;
  model::IntervalSet low_;
};

void add_throttling(TelemetryStats& facts, DeviceSets const& sets, Interval window,
                    ClockStudy const& clock, Curve const& limits, CounterMeaning const* meaning) {
  if (!clock.is_known() && meaning == nullptr) return;
  std::vector<Interval> throttled(clock.low());

  if (meaning != nullptr) facts.limited_ns.emplace();
  for (CounterSpan const& span : limits) {
    uint32_t const flags = limits_of(*meaning, span.value);
    if (flags == 0) continue;
    throttled.push_back(span.when);
    int64_t const busy = measure_in(sets.busy, overlap_of(span.when, window));
    for (size_t limit = 0; limit < kClockLimitCount; ++limit)
      if ((flags >> limit & 1U) != 0) (*facts.limited_ns)[limit] += busy;
  }

  facts.throttled =
      model::clip(model::intersect(model::unite(std::move(throttled)), sets.busy), window);
  facts.throttled_ns = model::measure(facts.throttled);
  std::stable_sort(facts.throttled.begin(), facts.throttled.end(),
                   [](Interval a, Interval b) { return a.length() > b.length(); });
  if (facts.throttled.size() > kMaxEvidence) facts.throttled.resize(kMaxEvidence);
}

}  // namespace

DeviceCounters find_counters(std::span<model::Track const> tracks,
                             std::function<uint64_t(uint32_t track)> const& samples, int32_t device,
                             bool is_only_device) {
  DeviceCounters found;
  auto const integrity = [&](DeviceCounter const& counter) {
    bool const is_own = tracks[counter.track.value].device == device;
    return std::tuple(is_own, !counter.meaning.is_mean, samples(counter.track.value));
  };
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    bool const is_of_device =
        tracks[t].device == device || (tracks[t].device < 0 && is_only_device);
    if (tracks[t].kind != model::TrackKind::kCounter || !is_of_device) continue;

    auto const meaning = meaning_of_counter(tracks[t].name);
    if (!meaning || samples(t) == 0) continue;
    DeviceCounter const counter{model::TrackId{t}, *meaning};
    auto& known = found[static_cast<size_t>(meaning->what)];
    if (!known || integrity(*known) < integrity(counter)) known = counter;
  }
  return found;
}

std::optional<TelemetryStats> telemetry_of(DeviceOps const& device, DeviceSets const& sets,
                                           Interval window, std::vector<StepStats> const& steps,
                                           bool is_only_device) {
  auto const samples = [&](uint32_t track) {
    return device.trace().rows_of(model::TrackId{track}).size();
  };
  DeviceCounters const sources =
      find_counters(device.trace().tracks(), samples, device.ref.device, is_only_device);
  if (std::none_of(sources.begin(), sources.end(),
                   [](auto const& source) { return source.has_value(); }))
    return std::nullopt;

  int64_t const end = std::max(window.end, sets.busy.empty() ? window.end : sets.busy.back().end);
  auto const curve = [&](What what) {
    auto const& source = sources[static_cast<size_t>(what)];
    return source ? curve_of(device, *source, end) : Curve();
  };

  TelemetryStats facts;
  Curve const clock = curve(What::kSmClock);
  facts.sm_clock_mhz = spread_of(clock, window);
  facts.memory_clock_mhz = spread_of(curve(What::kMemoryClock), window);
  facts.power_w = spread_of(curve(What::kPower), window);
  facts.temperature_c = spread_of(curve(What::kTemperature), window);
  facts.utilization_percent = spread_of(curve(What::kUtilization), window);

  ClockStudy study(device, sets, clock);
  study.add_to(facts, window, steps);
  auto const& limits = sources[static_cast<size_t>(What::kLimits)];
  add_throttling(facts, sets, window, study, curve(What::kLimits),
                 limits ? &limits->meaning : nullptr);
  return facts;
}

void compare_clocks(std::vector<DeviceStats>& devices) {
  std::map<std::string_view, std::vector<std::pair<double, TelemetryStats*>>> by_name;
  for (DeviceStats& device : devices)
    if (device.telemetry && device.telemetry->busy_clock_mhz)
      by_name[device.name].emplace_back(*device.telemetry->busy_clock_mhz, &*device.telemetry);

  for (auto& [name, clocks] : by_name) {
    if (clocks.size() < 2) continue;
    std::sort(clocks.begin(), clocks.end(),
              [](auto const& a, auto const& b) { return a.first < b.first; });

    size_t const middle = (clocks.size() - 2) / 2;  // of the others
    for (size_t i = 0; i < clocks.size(); ++i) {
      double const peers = clocks[middle < i ? middle : middle + 1].first;
      if (peers > 0) clocks[i].second->clock_to_peers = clocks[i].first / peers;
    }
  }
}

}  // namespace stepscope::analyzer
