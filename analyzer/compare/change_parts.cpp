#include "analyzer/compare/change_parts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace stepscope::analyzer {
namespace {

/// Rows of hosts and late devices: further ones explain nothing.
constexpr size_t kMostExplanations = 20;
constexpr size_t kInputChange =
    static_cast<size_t>(ChangePart::kFirstIdle) + static_cast<size_t>(IdleCause::kInput);

double mean_over_steps(std::vector<double> const& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

/// Mean over the runs of what `of_run` says of each.
template <class OfRun>
double mean_over_runs(std::vector<RunMeasurements> const& runs, OfRun const& of_run) {
  double sum = 0;
  for (RunMeasurements const& run : runs) sum += of_run(run);
  return sum / static_cast<double>(runs.size());
}

double part_mean(std::vector<RunMeasurements> const& runs, size_t part) {
  return mean_over_runs(
      runs, [part](RunMeasurements const& run) { return mean_over_steps(run.parts_ns[part]); });
}

/// Calls and time of a kernel, per step and device, over a side.
struct ComparedKernel {
  double calls = 0, ns = 0;
  size_t named_in = 0;  ///< runs that report it by name
};
using KernelTable = std::map<std::string, ComparedKernel>;

KernelTable kernel_means(std::vector<RunMeasurements> const& runs) {
  KernelTable table;
  auto const share = 1 / static_cast<double>(runs.size());

  for (RunMeasurements const& run : runs)
    for (RunMeasurements::Kernel const& kernel : run.kernels) {
      ComparedKernel& means = table[kernel.name];
      means.calls += mean_over_steps(kernel.calls) * share;
      means.ns += mean_over_steps(kernel.ns) * share;
      ++means.named_in;
    }

  return table;
}

bool is_in_any(std::vector<RunMeasurements> const& runs, std::string const& kernel) {
  return std::any_of(runs.begin(), runs.end(), [&](RunMeasurements const& run) {
    return !run.knows_all_kernels || run.kernel_names.contains(kernel);
  });
}

KernelChange change_of(std::string const& name, ComparedKernel const& base,
                       ComparedKernel const& candidate) {
  KernelChange change;
  change.name = name;
  change.base_calls = base.calls;
  change.candidate_calls = candidate.calls;
  change.base_ns = base.ns;
  change.candidate_ns = candidate.ns;

  if (base.calls > 0 && candidate.calls > 0) {
    double const base_each = base.ns / base.calls, candidate_each = candidate.ns / candidate.calls;
    change.speed_ns = (base.calls + candidate.calls) / 2 * (candidate_each - base_each);
    change.calls_ns = (base_each + candidate_each) / 2 * (candidate.calls - base.calls);
  } else {
    change.calls_ns = candidate.ns - base.ns;
  }

  return change;
}

/// Kernels that some runs tell apart and others have among the rest are of the rest here: their
/// numbers are not all known.
std::vector<KernelChange> kernel_changes(std::vector<RunMeasurements> const& base,
                                         std::vector<RunMeasurements> const& candidate) {
  KernelTable const of_base = kernel_means(base), of_candidate = kernel_means(candidate);
  std::vector<std::string> names;
  for (auto const& [name, means] : of_base) names.push_back(name);
  for (auto const& [name, means] : of_candidate)
    if (!of_base.contains(name)) names.push_back(name);

  std::vector<KernelChange> changes;
  ComparedKernel rest_of_base, rest_of_candidate;

  for (std::string const& name : names) {
    auto const in_base = of_base.find(name), in_candidate = of_candidate.find(name);
    ComparedKernel const before = in_base == of_base.end() ? ComparedKernel{} : in_base->second;
    ComparedKernel const after =
        in_candidate == of_candidate.end() ? ComparedKernel{} : in_candidate->second;

    bool const is_new = before.named_in == 0 && !is_in_any(base, name);
    bool const has_vanished = after.named_in == 0 && !is_in_any(candidate, name);
    bool const has_own_row = (is_new || before.named_in == base.size()) &&
                             (has_vanished || after.named_in == candidate.size());
    if (name.empty() || !has_own_row) {
      rest_of_base.calls += before.calls;
      rest_of_base.ns += before.ns;
      rest_of_candidate.calls += after.calls;
      rest_of_candidate.ns += after.ns;
      continue;
    }

    changes.push_back(change_of(name, before, after));
    if (is_new) changes.back().where = KernelChange::Where::kNew;
    if (has_vanished) changes.back().where = KernelChange::Where::kVanished;
  }

  // Kernels without a name of their own are one row.
  if (rest_of_base.calls > 0 || rest_of_candidate.calls > 0)
    changes.push_back(change_of({}, rest_of_base, rest_of_candidate));

  std::stable_sort(
      changes.begin(), changes.end(), [](KernelChange const& a, KernelChange const& b) {
        return std::abs(a.candidate_ns - a.base_ns) > std::abs(b.candidate_ns - b.base_ns);
      });
  return changes;
}

template <class Row>
void keep_largest(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](Row const& a, Row const& b) {
    return std::abs(a.candidate_ns - a.base_ns) > std::abs(b.candidate_ns - b.base_ns);
  });
  if (rows.size() > kMostExplanations) rows.resize(kMostExplanations);
}

std::vector<HostOpChange> host_op_changes(std::vector<RunMeasurements> const& base,
                                          std::vector<RunMeasurements> const& candidate) {
  std::map<std::pair<IdleCause, std::string>, std::pair<double, double>> ns;

  for (RunMeasurements const& run : base)
    for (RunMeasurements::HostOp const& op : run.host_ops)
      ns[{op.cause, op.name}].first += op.ns / static_cast<double>(base.size());
  for (RunMeasurements const& run : candidate)
    for (RunMeasurements::HostOp const& op : run.host_ops)
      ns[{op.cause, op.name}].second += op.ns / static_cast<double>(candidate.size());

  std::vector<HostOpChange> changes;
  for (auto const& [key, both] : ns)
    changes.push_back({key.first, key.second, both.first, both.second});
  keep_largest(changes);
  return changes;
}

std::vector<RangeChange> range_changes(std::vector<RunMeasurements> const& base,
                                       std::vector<RunMeasurements> const& candidate) {
  std::map<std::string, RangeChange> by_name;
  auto const add = [&](std::vector<RunMeasurements> const& runs, double RangeChange::*ns) {
    for (RunMeasurements const& run : runs)
      for (RunMeasurements::HostRange const& range : run.ranges) {
        RangeChange& row = by_name[range.name];
        row.name = range.name;
        row.waits = row.waits || range.waits;
        row.*ns += range.ns / static_cast<double>(runs.size());
      }
  };
  add(base, &RangeChange::base_ns);
  add(candidate, &RangeChange::candidate_ns);

  std::vector<RangeChange> changes;
  for (auto& [name, row] : by_name) changes.push_back(std::move(row));
  keep_largest(changes);
  return changes;
}

std::vector<LateChange> late_changes(std::vector<RunMeasurements> const& base,
                                     std::vector<RunMeasurements> const& candidate) {
  std::map<std::tuple<int32_t, int32_t, std::string, std::string>, std::pair<double, double>> ns;

  for (RunMeasurements const& run : base)
    for (RunMeasurements::Late const& late : run.late)
      ns[{late.rank, late.device, late.cause, late.host_op}].first +=
          late.exposed_ns / static_cast<double>(base.size());
  for (RunMeasurements const& run : candidate)
    for (RunMeasurements::Late const& late : run.late)
      ns[{late.rank, late.device, late.cause, late.host_op}].second +=
          late.exposed_ns / static_cast<double>(candidate.size());

  std::vector<LateChange> changes;
  for (auto const& [key, both] : ns)
    changes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key),
                       both.first, both.second});
  keep_largest(changes);
  return changes;
}

}  // namespace

double common_kernel_share(std::vector<RunMeasurements> const& base,
                           std::vector<RunMeasurements> const& candidate) {
  double all = 0, common = 0;

  auto const add = [&](std::vector<RunMeasurements> const& runs,
                       std::vector<RunMeasurements> const& others) {
    for (RunMeasurements const& run : runs)
      for (RunMeasurements::Kernel const& kernel : run.kernels) {
        if (kernel.name.empty()) continue;
        double const ns = mean_over_steps(kernel.ns) / static_cast<double>(runs.size());
        all += ns;
        if (is_in_any(others, kernel.name)) common += ns;
      }
  };

  add(base, candidate);
  add(candidate, base);
  return all > 0 ? common / all : 1;
}

std::array<int64_t, kChangePartCount> round_to_sum(
    std::array<double, kChangePartCount> const& values, int64_t total) {
  std::array<int64_t, kChangePartCount> rounded{};
  std::array<std::pair<double, size_t>, kChangePartCount> rest;

  int64_t missing = total;
  for (size_t i = 0; i < values.size(); ++i) {
    double const floor = std::floor(values[i]);
    rounded[i] = static_cast<int64_t>(floor);
    rest[i] = {values[i] - floor, i};
    missing -= rounded[i];
  }

  // The largest remainders are rounded up.
  std::stable_sort(rest.begin(), rest.end(),
                   [](auto const& a, auto const& b) { return a.first > b.first; });
  // As many as there are parts at most, but for the error of the sum: of that the largest part
  // takes what is left.
  for (auto const& [share, i] : rest) {
    if (missing <= 0) break;
    ++rounded[i];
    --missing;
  }

  auto const largest = std::max_element(rounded.begin(), rounded.end(), [](int64_t a, int64_t b) {
    return std::abs(a) < std::abs(b);
  });
  *largest += missing;

  return rounded;
}

void explain_change(std::vector<RunMeasurements> const& base,
                    std::vector<RunMeasurements> const& candidate, Comparison& comparison) {
  comparison.kernels = kernel_changes(base, candidate);
  std::array<double, kChangePartCount> parts{};

  auto const part = [&](ChangePart which) -> double& { return parts[static_cast<size_t>(which)]; };
  double of_kernels = 0;
  for (KernelChange const& kernel : comparison.kernels) {
    of_kernels += kernel.candidate_ns - kernel.base_ns;
    if (kernel.where == KernelChange::Where::kNew)
      part(ChangePart::kNewKernels) += kernel.candidate_ns;
    if (kernel.where == KernelChange::Where::kVanished)
      part(ChangePart::kVanishedKernels) -= kernel.base_ns;
    if (kernel.where != KernelChange::Where::kBoth) continue;
    part(ChangePart::kKernelSpeed) += kernel.speed_ns;
    part(ChangePart::kKernelCalls) += kernel.calls_ns;
  }

  auto const changed = [&](StepPart of) {
    return part_mean(candidate, static_cast<size_t>(of)) - part_mean(base, static_cast<size_t>(of));
  };

  double const of_compute = changed(StepPart::kCompute) - of_kernels;
  part(comparison.of_hosts ? ChangePart::kHostWork : ChangePart::kKernelOverlap) = of_compute;
  part(ChangePart::kCommunication) = changed(StepPart::kCommunication);
  part(ChangePart::kWaiting) = changed(StepPart::kWaiting);
  part(ChangePart::kCopies) = changed(StepPart::kCopies);
  for (size_t c = 0; c < kIdleCauseCount; ++c)
    parts[static_cast<size_t>(ChangePart::kFirstIdle) + c] =
        changed(idle_part(static_cast<IdleCause>(c)));
  if (comparison.of_hosts) std::swap(part(ChangePart::kHostInput), parts[kInputChange]);

  comparison.parts_ns = round_to_sum(parts, comparison.candidate.mean_ns - comparison.base.mean_ns);
  comparison.host_ops = host_op_changes(base, candidate);
  comparison.late = late_changes(base, candidate);
  comparison.ranges = range_changes(base, candidate);
}

}  // namespace stepscope::analyzer
