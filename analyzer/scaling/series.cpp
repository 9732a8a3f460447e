#include "analyzer/scaling/series.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analyzer/compare/change_parts.h"
#include "analyzer/compare/differences.h"
#include "analyzer/scaling/mean_error.h"

namespace stepscope::analyzer {
namespace {

using Runs = std::vector<RunMeasurements>;

/// With a smaller share of kernel time in kernels that both have, it is unknown which kernels grow.
constexpr double kLeastCommonKernels = 0.5;
/// A recording that scores less has lost events.
constexpr int32_t kLeastSeriesQuality = 90;
/// Efficiencies that differ by more are worth a word.
constexpr double kLeastOutlierShare = 0.02, kLeastSuperlinearShare = 0.02;
constexpr double kNsPerSecond = 1e9;

double mean_over_steps_of(std::vector<double> const& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

template <class OfRun>
double mean_over(Runs const& runs, OfRun const& of_run) {
  double sum = 0;
  for (RunMeasurements const& run : runs) sum += of_run(run);
  return sum / static_cast<double>(runs.size());
}

template <class Holds>
bool any_of_runs(Runs const& runs, Holds const& holds) {
  return std::any_of(runs.begin(), runs.end(), holds);
}

/// "host:0, host:1" as "host": devices that are numbered are no different ones.
std::set<std::string> kinds_of_devices(std::string const& names) {
  std::set<std::string> kinds;
  for (size_t begin = 0; begin < names.size();) {
    size_t const end = std::min(names.find(", ", begin), names.size());
    std::string name = names.substr(begin, end - begin);

    size_t const colon = name.rfind(':');
    if (colon != std::string::npos &&
        name.find_first_not_of("0123456789", colon + 1) == std::string::npos)
      name.resize(colon);

    kinds.insert(std::move(name));
    begin = end + 2;
  }
  return kinds;
}

/// What a scaling series changes on purpose, or by itself.
bool is_expected(Difference const& difference) {
  switch (difference.condition) {
    case Condition::kDevice:
      return kinds_of_devices(difference.base) == kinds_of_devices(difference.candidate);
    case Condition::kDeviceCount:
    case Condition::kProcesses:
    case Condition::kHost:
    case Condition::kCommand:
    case Condition::kCopiedIn:
    case Condition::kStepNumbers:
      return true;
    default:
      return false;
  }
}

/// Makes a series of the runs of each number of devices.
class SeriesMaker {
 public:
  SeriesMaker(RunsByDevices const& runs, ScalingOptions const& options) : options_(options) {
    for (auto const& [devices, of_size] : runs) {
      sizes_.emplace_back(devices, &of_size);
      series_.points.emplace_back().devices = devices;
    }
    series_.samples = options.samples;
    refuse(runs);
    if (!series_.refusal) make();
  }
  ScalingSeries take() { return std::move(series_); }

 private:
  [[nodiscard]] Runs const& runs(size_t point) const { return *sizes_[point].second; }

  void refuse(RunsByDevices const& runs) {
    auto const refuse_with = [&](SeriesRefusal refusal, std::string const& run = {}) {
      series_.refusal = refusal;
      series_.refused_run = run;
    };

    for (auto const& [devices, of_size] : runs)
      for (RunMeasurements const& run : of_size)
        if (run.steps.empty() || run.of_hosts || !(mean_over_steps_of(run.step_ns) > 0))
          return refuse_with(SeriesRefusal::kNoSteps, run.name);

    if (sizes_.size() < 2) return refuse_with(SeriesRefusal::kOneSize);
    for (size_t p = 1; p < sizes_.size(); ++p)
      if (common_kernel_share(this->runs(0), this->runs(p)) == 0)
        return refuse_with(SeriesRefusal::kNoCommonKernel, this->runs(p).front().name);

    series_.kind = find_kind(runs);
    if (options_.kind && options_.kind != series_.kind.kind)
      series_.kind.evidence = KindEvidence::kAsked;
    if (options_.kind) series_.kind.kind = options_.kind;
    if (!series_.kind.kind) refuse_with(SeriesRefusal::kKindUnclear);
  }

  void make() {
    add_points();

    for (size_t p = 1; p < sizes_.size(); ++p)
      for (Difference& difference : find_differences(runs(0), runs(p)))
        if (!is_expected(difference)) series_.differences.push_back({p, std::move(difference)});

    for (size_t p = 1; p < sizes_.size(); ++p) add_loss(0, p);
    for (size_t p = 2; p < sizes_.size(); ++p) add_loss(p - 1, p);
    add_growth();

    std::vector<ScalingFactors> factors;
    for (ScalingPoint const& point : series_.points) factors.push_back(point.factors);
    series_.broken = first_break(factors);

    add_fits();
    add_caveats();
  }

  void add_points() {
    std::vector<MeanError> errors;
    std::vector<DeviceTimes> times;

    for (size_t p = 0; p < sizes_.size(); ++p) {
      std::vector<std::vector<double>> steps;
      for (RunMeasurements const& run : runs(p)) steps.push_back(run.step_ns);
      errors.push_back(mean_error(steps));
      times.push_back(device_times(runs(p)));

      ScalingPoint& point = series_.points[p];
      add_counts(runs(p), point);
      point.step_ns = interval_of(errors[p]);
      point.factors = scaling_factors(times[p], times[0], series_.ideal_share(0, p));
      add_speed(point, p, errors);
      if (errors[p].drifts) drifting_.push_back(point.devices);
    }
  }

  void add_speed(ScalingPoint& point, size_t p, std::vector<MeanError> const& errors) const {
    double const more =
        static_cast<double>(point.devices) / static_cast<double>(series_.points[0].devices);

    point.efficiency =
        p == 0 ? Estimate{1, {}, {}} : ratio_of(errors[0], errors[p], series_.ideal_share(0, p));
    auto const scaled = [](Estimate estimate, double factor) {
      estimate.value *= factor;
      if (estimate.low) *estimate.low *= factor;
      if (estimate.high) *estimate.high *= factor;
      return estimate;
    };
    point.speedup = scaled(point.efficiency, more);

    double const work = series_.throughput_at(static_cast<double>(point.devices),
                                              series_.cost_of_step(point.devices, 1));
    Estimate const& step = point.step_ns;
    point.throughput.value = work / step.value;
    if (step.high) point.throughput.low = work / *step.high;
    if (step.low && *step.low > 0) point.throughput.high = work / *step.low;
  }

  static void add_counts(Runs const& of_size, ScalingPoint& point) {
    for (RunMeasurements const& run : of_size) {
      point.runs.push_back(run.name);
      point.steps += run.steps.size();
      point.warmup_steps += run.warmup_steps;
      point.slow_start_steps += run.slow_start_steps;
      point.outlier_steps += run.outlier_steps;
      point.incomplete_steps += run.incomplete_steps;
    }

    for (size_t part = 0; part < kStepPartCount; ++part)
      point.parts_ns[part] = mean_over(of_size, [&](RunMeasurements const& run) {
        return mean_over_steps_of(run.parts_ns[part]);
      });

    point.copied_in_bytes = mean_over(of_size, [](RunMeasurements const& run) {
      return run.copied_in_bytes / static_cast<double>(run.devices);
    });
  }

  void add_loss(size_t from, size_t to) {
    series_.losses.push_back(lost_time(runs(from), runs(to), series_.ideal_share(from, to)));
    series_.losses.back().from = from;
    series_.losses.back().to = to;
  }

  void add_growth() {
    series_.kernels = kernel_growth(sizes_, series_.ideal_share(0, sizes_.size() - 1));
    series_.collectives = collective_growth(sizes_);
    for (size_t part = 0; part < kStepPartCount; ++part) {
      std::vector<std::pair<double, double>> values;
      for (ScalingPoint const& point : series_.points)
        values.emplace_back(static_cast<double>(point.devices), point.parts_ns[part]);
      series_.part_exponents[part] = growth_exponent(values);
    }
  }

  void add_fits() {
    std::vector<CostPoint> points;
    for (size_t p = 0; p < sizes_.size(); ++p)
      for (RunMeasurements const& run : runs(p)) {
        double const cost = series_.cost_of_step(sizes_[p].first, mean_over_steps_of(run.step_ns));
        if (cost > 0) points.push_back({static_cast<double>(sizes_[p].first), cost});
      }
    series_.fits = fit_scaling(points);
  }

  template <class Holds>
  void add_caveat(SeriesCaveat caveat, Holds const& holds) {
    SeriesCaveatStats facts{caveat, {}};
    for (size_t p = 0; p < sizes_.size(); ++p)
      if (holds(p)) facts.devices.push_back(sizes_[p].first);
    if (!facts.devices.empty()) series_.caveats.push_back(std::move(facts));
  }

  void add_caveats() {
    add_caveat(SeriesCaveat::kMissingRanks, [&](size_t p) {
      return any_of_runs(runs(p), [](auto const& run) { return !run.missing_ranks.empty(); });
    });
    add_caveat(SeriesCaveat::kTraceIntegrity, [&](size_t p) {
      return any_of_runs(runs(p),
                         [](auto const& run) { return run.integrity < kLeastSeriesQuality; });
    });

    add_caveat(SeriesCaveat::kKernelNames, [&](size_t p) {
      return p > 0 && common_kernel_share(runs(0), runs(p)) < kLeastCommonKernels;
    });
    add_caveat(SeriesCaveat::kOutliers, [&](size_t p) {
      double const steady = mean_over(runs(p), [](auto const& run) { return run.steady_steps_ns; });
      return mean_over(runs(p), [](auto const& run) { return run.all_steps_ns; }) >
             (1 + kLeastOutlierShare) * steady;
    });

    add_caveat(SeriesCaveat::kSuperlinear, [&](size_t p) {
      Estimate const& efficiency = series_.points[p].efficiency;
      return efficiency.low.value_or(efficiency.value) > 1 + kLeastSuperlinearShare;
    });
    add_caveat(SeriesCaveat::kDrift, [&](size_t p) {
      return std::find(drifting_.begin(), drifting_.end(), sizes_[p].first) != drifting_.end();
    });

    add_caveat(SeriesCaveat::kUnusedDevices, [&](size_t p) {
      return any_of_runs(runs(p), [](auto const& run) { return run.devices_without > 0; });
    });
    add_caveat(SeriesCaveat::kOneStep, [&](size_t p) { return !series_.points[p].step_ns.low; });
    add_caveat(SeriesCaveat::kOneRun, [&](size_t p) { return runs(p).size() == 1; });
  }

  ScalingOptions const& options_;
  std::vector<std::pair<uint64_t, Runs const*>> sizes_;
  std::vector<uint64_t> drifting_;
  ScalingSeries series_;
};

}  // namespace

char const* to_string(SeriesCaveat caveat) {
  constexpr std::array kNames = {"one_run",      "one_step",      "drift",
                                 "kernel_names", "missing_ranks", "unused_devices",
                                 "quality",      "outliers",      "superlinear"};
  return kNames[static_cast<size_t>(caveat)];
}

char const* to_string(SeriesRefusal refusal) {
  constexpr std::array kNames = {"no_steps", "one_size", "no_common_kernel", "kind_unclear"};
  return kNames[static_cast<size_t>(refusal)];
}

double ScalingSeries::ideal_share(size_t from, size_t to) const {
  return is_strong()
             ? static_cast<double>(points[from].devices) / static_cast<double>(points[to].devices)
             : 1;
}

double ScalingSeries::throughput_at(double devices, double cost_ns) const {
  return devices / cost_ns * kNsPerSecond * samples.value_or(1);
}

double ScalingSeries::efficiency_of(uint64_t devices, double step_ns) const {
  ScalingPoint const& first = points.front();
  double const cost = cost_of_step(devices, step_ns);
  return cost > 0 ? cost_of_step(first.devices, first.step_ns.value) / cost : 0;
}

uint64_t devices_of(RunMeasurements const& run) {
  if (run.missing_ranks.empty() || run.processes == 0) return run.devices;
  return run.devices + run.missing_ranks.size() * run.devices / run.processes;
}

ScalingSeries scale_series(std::vector<RunMeasurements> runs, ScalingOptions const& options) {
  RunsByDevices by_devices;
  for (RunMeasurements& run : runs) by_devices[devices_of(run)].push_back(std::move(run));
  return SeriesMaker(by_devices, options).take();
}

}  // namespace stepscope::analyzer
