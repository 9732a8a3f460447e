#include "analyzer/gate/kept_sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::analyzer {
namespace {

/// FNV-1a, 64 bits: no secret is kept, names are told apart.
uint64_t text_hash(std::string const& text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char const byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  return hash;
}

void round_value(double& value, double per_unit) {
  value = std::round(value * per_unit) / per_unit;
}
void round_values(std::vector<double>& values, double per_unit) {
  for (double& value : values) round_value(value, per_unit);
}
constexpr double kTimesPerNs = 10;
constexpr double kCallsPerUnit = 1000;

template <class T>
void keep_last(std::vector<T>& values, size_t most) {
  if (values.size() > most)
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(most));
}

template <class T>
void keep_first(std::vector<T>& values, size_t most) {
  if (values.size() > most) values.resize(most);
}

double total_of(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Kernels whose names were shortened to the same text would be one: the hash in it keeps them
/// apart.
void keep_kernels(RunMeasurements& sample) {
  for (RunMeasurements::Kernel& kernel : sample.kernels) {
    kernel.name = kept_text(kernel.name);
    keep_last(kernel.ns, kMostKeptSteps);
    keep_last(kernel.calls, kMostKeptSteps);
  }

  std::stable_partition(sample.kernels.begin(), sample.kernels.end(),
                        [](auto const& kernel) { return !kernel.name.empty(); });

  auto const others = std::find_if(sample.kernels.begin(), sample.kernels.end(),
                                   [](auto const& kernel) { return kernel.name.empty(); });
  size_t const named = static_cast<size_t>(others - sample.kernels.begin());

  if (named > kMostKeptKernels) {
    std::stable_sort(sample.kernels.begin(), others,
                     [](auto const& a, auto const& b) { return total_of(a.ns) > total_of(b.ns); });
    RunMeasurements::Kernel rest{{},
                                 std::vector<double>(sample.steps.size(), 0),
                                 std::vector<double>(sample.steps.size(), 0)};
    for (size_t k = kMostKeptKernels; k < sample.kernels.size(); ++k)
      for (size_t s = 0; s < sample.steps.size(); ++s) {
        rest.ns[s] += sample.kernels[k].ns[s];
        rest.calls[s] += sample.kernels[k].calls[s];
      }
    sample.kernels.resize(kMostKeptKernels);
    sample.kernels.push_back(std::move(rest));
  }

  for (RunMeasurements::Kernel& kernel : sample.kernels) {
    round_values(kernel.ns, kTimesPerNs);
    round_values(kernel.calls, kCallsPerUnit);
  }
}

void keep_kernel_names(RunMeasurements& sample) {
  std::vector<std::string> names;
  names.reserve(sample.kernel_names.size());
  for (std::string const& name : sample.kernel_names) names.push_back(kept_text(name));
  std::sort(names.begin(), names.end());

  if (names.size() > kMostKeptKernelNames) {
    sample.knows_all_kernels = false;
    names.resize(kMostKeptKernelNames);
  }

  sample.kernel_names.clear();
  sample.kernel_names.insert(names.begin(), names.end());
  for (RunMeasurements::Kernel const& kernel : sample.kernels)
    if (!kernel.name.empty()) sample.kernel_names.insert(kernel.name);
}

void keep_texts(std::vector<std::string>& texts) {
  keep_first(texts, kMostKeptConditions);
  for (std::string& text : texts) text = kept_text(text);
}

void keep_conditions(RunMeasurements& sample) {
  sample.name = kept_text(sample.name);
  sample.command = kept_text(sample.command);
  sample.tool = kept_text(sample.tool);

  for (double* const value :
       {&sample.all_steps_ns, &sample.steady_steps_ns, &sample.copied_in_bytes})
    round_value(*value, kTimesPerNs);
  round_value(sample.kernel_calls, kCallsPerUnit);
  if (sample.busy_clock_mhz) round_value(*sample.busy_clock_mhz, kTimesPerNs);

  keep_texts(sample.device_names);
  keep_texts(sample.hosts);

  keep_first(sample.facts, kMostKeptConditions);
  for (auto& [name, value] : sample.facts) {
    name = kept_text(name);
    value = kept_text(value);
  }
  keep_first(sample.missing_ranks, kMostKeptConditions);
}

void keep_blame(RunMeasurements& sample) {
  std::stable_sort(sample.host_ops.begin(), sample.host_ops.end(),
                   [](auto const& a, auto const& b) { return a.ns > b.ns; });
  keep_first(sample.host_ops, kMostKeptBlame);
  for (RunMeasurements::HostOp& op : sample.host_ops) {
    op.name = kept_text(op.name);
    round_value(op.ns, kTimesPerNs);
  }

  keep_first(sample.ranges, kMostKeptBlame);
  for (RunMeasurements::HostRange& range : sample.ranges) {
    range.name = kept_text(range.name);
    round_value(range.ns, kTimesPerNs);
  }

  std::stable_sort(sample.late.begin(), sample.late.end(),
                   [](auto const& a, auto const& b) { return a.exposed_ns > b.exposed_ns; });
  keep_first(sample.late, kMostKeptBlame);
  for (RunMeasurements::Late& late : sample.late) {
    late.cause = kept_text(late.cause);
    late.host_op = kept_text(late.host_op);
    round_value(late.exposed_ns, kTimesPerNs);
  }
}

}  // namespace

std::string kept_text(std::string const& text) {
  if (text.size() <= kMostKeptTextBytes && base::valid_utf8(text, text.size()) == text) return text;
  constexpr size_t kHashBytes = 17;
  return base::valid_utf8(text, kMostKeptTextBytes - kHashBytes) +
         fmt::format("#{:016x}", text_hash(text));
}

RunMeasurements kept_sample(RunMeasurements sample) {
  keep_last(sample.steps, kMostKeptSteps);
  keep_last(sample.step_ns, kMostKeptSteps);
  round_values(sample.step_ns, kTimesPerNs);

  for (std::vector<double>& part : sample.parts_ns) {
    keep_last(part, kMostKeptSteps);
    round_values(part, kTimesPerNs);
  }

  for (auto* bytes : {&sample.allocated_bytes, &sample.reserved_bytes}) {
    keep_last(*bytes, kMostKeptSteps);
    round_values(*bytes, 1);
  }

  keep_kernels(sample);
  keep_kernel_names(sample);

  keep_first(sample.collectives, kMostKeptCollectives);
  for (RunMeasurements::Collective& collective : sample.collectives) {
    keep_last(collective.transfer_ns, kMostKeptSteps);
    round_values(collective.transfer_ns, kTimesPerNs);
    round_value(collective.per_step, kCallsPerUnit);
    round_value(collective.total_ns, kTimesPerNs);
  }

  keep_conditions(sample);
  keep_blame(sample);
  return sample;
}

}  // namespace stepscope::analyzer
