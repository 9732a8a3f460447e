#include "analyzer/scaling/growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace stepscope::analyzer {
namespace {

using RunGroups = std::vector<std::pair<uint64_t, std::vector<RunMeasurements> const*>>;

double mean_value(std::vector<double> const& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

std::optional<double> exponent_of(RunGroups const& groups,
                                  std::vector<std::optional<double>> const& values) {
  std::vector<std::pair<double, double>> known;
  for (size_t g = 0; g < groups.size(); ++g)
    if (values[g]) known.emplace_back(static_cast<double>(groups[g].first), *values[g]);
  return growth_exponent(known);
}

struct KernelMeansAt {
  double ns = 0, calls = 0;
  size_t named_in = 0;  ///< runs
};
using MeansByName = std::map<std::string, KernelMeansAt>;

MeansByName kernel_means_of(std::vector<RunMeasurements> const& runs) {
  MeansByName means;
  double const share = 1 / static_cast<double>(runs.size());

  for (RunMeasurements const& run : runs)
    for (RunMeasurements::Kernel const& kernel : run.kernels) {
      KernelMeansAt& to = means[kernel.name];
      to.ns += mean_value(kernel.ns) * share;
      to.calls += mean_value(kernel.calls) * share;
      ++to.named_in;
    }

  return means;
}

bool is_in_any_run(std::vector<RunMeasurements> const& runs, std::string const& kernel) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](RunMeasurements const& run) { return run.kernel_names.contains(kernel); });
}

}  // namespace

std::optional<double> growth_exponent(std::span<std::pair<double, double> const> values) {
  double count = 0, mean_x = 0, mean_y = 0;
  for (auto const& [n, value] : values) {
    if (!(value > 0) || !(n > 0)) continue;
    ++count;
    mean_x += std::log(n);
    mean_y += std::log(value);
  }

  if (count < 2) return std::nullopt;

  mean_x /= count;
  mean_y /= count;

  double xx = 0, xy = 0;
  for (auto const& [n, value] : values) {
    if (!(value > 0) || !(n > 0)) continue;
    double const x = std::log(n) - mean_x;
    xx += x * x;
    xy += x * (std::log(value) - mean_y);
  }

  if (!(xx > 0)) return std::nullopt;
  return xy / xx;
}

std::vector<KernelGrowth> kernel_growth(RunGroups const& groups, double ideal) {
  std::vector<MeansByName> by_group;

  std::map<std::string, bool> names;  // whether every run that has it reports it by name
  for (auto const& [devices, runs] : groups) {
    by_group.push_back(kernel_means_of(*runs));
    for (auto const& [name, means] : by_group.back())
      if (!name.empty()) names.emplace(name, true);
  }

  // A kernel has its own row if the runs of each size either all report it by name or all lack it.
  for (auto& [name, has_own_row] : names)
    for (size_t g = 0; g < groups.size(); ++g) {
      auto const found = by_group[g].find(name);
      size_t const named_in = found == by_group[g].end() ? 0 : found->second.named_in;
      if (named_in != groups[g].second->size() &&
          (named_in > 0 || is_in_any_run(*groups[g].second, name)))
        has_own_row = false;
    }

  std::vector<KernelGrowth> rows;
  KernelGrowth rest;
  rest.ns.assign(groups.size(), 0.0);
  rest.calls.assign(groups.size(), 0.0);
  for (size_t g = 0; g < groups.size(); ++g)
    for (auto const& [name, means] : by_group[g]) {
      if (!name.empty() && names.at(name)) continue;
      *rest.ns[g] += means.ns;
      *rest.calls[g] += means.calls;
    }

  for (auto const& [name, has_own_row] : names) {
    if (!has_own_row) continue;
    KernelGrowth& row = rows.emplace_back();
    row.name = name;
    for (MeansByName const& means : by_group) {
      auto const found = means.find(name);
      row.ns.push_back(found == means.end() ? std::nullopt : std::optional(found->second.ns));
      row.calls.push_back(found == means.end() ? std::nullopt : std::optional(found->second.calls));
    }
  }

  auto const finish = [&](KernelGrowth& row) {
    row.exponent = exponent_of(groups, row.ns);
    if (row.ns.front() && row.ns.back()) row.lost_ns = *row.ns.back() - ideal * *row.ns.front();
  };

  for (KernelGrowth& row : rows) finish(row);
  std::stable_sort(rows.begin(), rows.end(), [](KernelGrowth const& a, KernelGrowth const& b) {
    return std::abs(a.lost_ns) > std::abs(b.lost_ns);
  });

  if (std::any_of(rest.ns.begin(), rest.ns.end(), [](auto const& ns) { return *ns > 0; })) {
    finish(rest);
    rows.push_back(std::move(rest));
  }
  return rows;
}

std::vector<CollectiveGrowth> collective_growth(RunGroups const& groups) {
  struct Sum {
    double transfer_ns = 0, per_step = 0, runs = 0;
  };

  std::map<std::pair<model::CollectiveOp, uint64_t>, std::vector<Sum>> by_size;
  for (size_t g = 0; g < groups.size(); ++g)
    for (RunMeasurements const& run : *groups[g].second)
      for (RunMeasurements::Collective const& collective : run.collectives) {
        if (collective.transfer_ns.empty()) continue;
        std::vector<Sum>& sums =
            by_size.try_emplace({collective.op, collective.bytes}, groups.size()).first->second;
        sums[g].transfer_ns += mean_value(collective.transfer_ns);
        sums[g].per_step += collective.per_step;
        ++sums[g].runs;
      }

  std::vector<CollectiveGrowth> rows;
  for (auto const& [key, sums] : by_size) {
    CollectiveGrowth row{key.first, key.second, {}, {}, {}};
    for (size_t g = 0; g < groups.size(); ++g) {
      bool const is_there = sums[g].runs > 0;
      auto const all_runs = static_cast<double>(groups[g].second->size());
      row.transfer_ns.push_back(is_there ? std::optional(sums[g].transfer_ns / sums[g].runs)
                                         : std::nullopt);
      row.per_step.push_back(is_there ? std::optional(sums[g].per_step / all_runs) : std::nullopt);
    }
    row.exponent = exponent_of(groups, row.transfer_ns);
    if (row.exponent) rows.push_back(std::move(row));
  }

  auto const cost = [](CollectiveGrowth const& row) {
    return row.transfer_ns.back().value_or(0) * row.per_step.back().value_or(0);
  };

  std::stable_sort(rows.begin(), rows.end(),
                   [&](auto const& a, auto const& b) { return cost(a) > cost(b); });
  return rows;
}

}  // namespace stepscope::analyzer
