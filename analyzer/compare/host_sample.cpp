#include "analyzer/compare/host_sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analyzer/facts/quantile.h"

namespace stepscope::analyzer {
namespace {

/// The usual steps of one thread, by number.
using StepsOfThread = std::map<int64_t, HostStepFacts const*>;

std::vector<StepsOfThread> usual_steps_by_thread(Analysis const& analysis) {
  std::map<std::pair<int32_t, uint32_t>, StepsOfThread> threads;
  for (HostFacts const& host : analysis.hosts)
    for (HostStepFacts const& step : host.steps) {
      StepsOfThread& usual = threads[{host.rank_index, step.track}];
      if (!step.warmup && !step.outlier) usual.emplace(step.step, &step);
    }

  std::vector<StepsOfThread> result;
  for (auto& [thread, steps] : threads)
    if (!steps.empty()) result.push_back(std::move(steps));
  return result;
}

/// Numbers that all threads have. Threads that share the steps among themselves have none in common: then all numbers.
std::vector<int64_t> numbers_of(std::vector<StepsOfThread> const& threads) {
  std::map<int64_t, size_t> holders;
  for (StepsOfThread const& steps : threads)
    for (auto const& [number, step] : steps) ++holders[number];

  std::vector<int64_t> all, common;
  for (auto const& [number, count] : holders) {
    all.push_back(number);
    if (count == threads.size()) common.push_back(number);
  }
  return common.empty() ? all : common;
}

/// The mean over the threads that have the step.
void add_step_values(std::vector<StepsOfThread> const& threads, RunSample& sample) {
  sample.step_ns.assign(sample.steps.size(), 0);
  sample.parts_ns.assign(kStepPartCount, std::vector<double>(sample.steps.size(), 0));
  for (size_t s = 0; s < sample.steps.size(); ++s) {
    double period = 0, input = 0, count = 0;
    for (StepsOfThread const& steps : threads) {
      auto const found = steps.find(sample.steps[s]);
      if (found == steps.end()) continue;
      period += static_cast<double>(found->second->period.length());
      input += static_cast<double>(found->second->input_ns);
      ++count;
    }
    sample.step_ns[s] = period / count;
    sample.parts_ns[static_cast<size_t>(idle_part(IdleCause::kInput))][s] = input / count;
    sample.parts_ns[static_cast<size_t>(StepPart::kCompute)][s] = (period - input) / count;
  }
}

/// Counts of steps that are left out, and the means with and without them.
void add_left_out(Analysis const& analysis, RunSample& sample) {
  std::set<int64_t> warmup, outliers, usual;
  std::vector<int64_t> lengths;
  double all_ns = 0, usual_ns = 0, usual_count = 0;
  for (HostFacts const& host : analysis.hosts)
    for (HostStepFacts const& step : host.steps) {
      (step.warmup ? warmup : step.outlier ? outliers : usual).insert(step.step);
      if (step.warmup) continue;
      auto const length = static_cast<double>(step.period.length());
      lengths.push_back(step.period.length());
      all_ns += length;
      if (step.outlier) continue;
      usual_ns += length;
      ++usual_count;
    }

  sample.warmup_steps = warmup.size();
  sample.outlier_steps = outliers.size();
  sample.incomplete_steps = usual.size() - sample.steps.size();
  if (!lengths.empty()) sample.all_steps_ns = all_ns / static_cast<double>(lengths.size());
  if (usual_count > 0) sample.usual_steps_ns = usual_ns / usual_count;
  if (!lengths.empty()) sample.p95_ns = static_cast<double>(quantile(lengths, 95));
}

/// Own time by name, the mean over the processes with steps.
void add_ranges(Analysis const& analysis, RunSample& sample) {
  std::map<std::string, RunSample::HostRange> by_name;
  double processes = 0;
  for (HostFacts const& host : analysis.hosts) processes += host.counted_steps > 0 ? 1 : 0;
  for (HostFacts const& host : analysis.hosts) {
    if (host.counted_steps == 0) continue;
    for (HostRangeFacts const& range : host.ranges) {
      if (range.names != 1 || !range.step_exclusive_ns) continue;
      RunSample::HostRange& row = by_name[range.name];
      row.name = range.name;
      row.waits = row.waits || range.kind == HostRangeKind::kInput;
      row.ns += static_cast<double>(*range.step_exclusive_ns) / processes;
    }
  }

  for (auto& [name, row] : by_name) sample.ranges.push_back(std::move(row));
  std::stable_sort(sample.ranges.begin(), sample.ranges.end(), [](auto const& a, auto const& b) { return a.ns > b.ns; });
  if (sample.ranges.size() > kMostComparedRanges) sample.ranges.resize(kMostComparedRanges);
}

/// The period of a step that was held contains the other program's turn: neither mean has it.
void keep_fastest(RunSample& sample) {
  sample.steps_in_turn = sample.steps.size();
  sample.all_steps_ns = sample.usual_steps_ns;
  std::vector<size_t> order(sample.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sample.step_ns[a] < sample.step_ns[b]; });
  order.resize(static_cast<size_t>(std::ceil(kFastestInTurn * static_cast<double>(order.size()))));
  std::sort(order.begin(), order.end());

  auto const keep = [&](auto& values) {
    for (size_t i = 0; i < order.size(); ++i) values[i] = values[order[i]];
    values.resize(order.size());
  };
  keep(sample.steps);
  keep(sample.step_ns);
  for (std::vector<double>& part : sample.parts_ns) keep(part);
}

}  // namespace

void sample_hosts(Analysis const& analysis, bool in_turn, RunSample& sample) {
  std::vector<StepsOfThread> const threads = usual_steps_by_thread(analysis);
  if (threads.empty()) return;
  sample.of_hosts = true;
  sample.steps = numbers_of(threads);
  add_step_values(threads, sample);
  add_left_out(analysis, sample);
  add_ranges(analysis, sample);
  if (in_turn) keep_fastest(sample);
}

}  // namespace stepscope::analyzer
