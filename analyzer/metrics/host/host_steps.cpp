#include "analyzer/metrics/host/host_steps.h"

#include <algorithm>
#include <cmath>

#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/time/device_time.h"

namespace stepscope::analyzer {
namespace {

/// With fewer counted steps nothing is compared.
constexpr uint64_t kFewestToCompare = 3;

bool is_chosen(HostStep const& step, AnalyzeOptions const& options) {
  return !options.steps ||
         (options.steps->first <= step.index && step.index <= options.steps->second);
}

/// The steps of one thread. A wait between steps delays the step behind it, so it belongs to that
/// step's period.
void add_steps_of_thread(HostActivity& host, model::TrackId track,
                         std::vector<HostStep> const& steps, model::TraceInfo const& info,
                         AnalyzeOptions const& options, HostStats& facts) {
  model::IntervalSet const& input = host.thread(track).input;
  bool const is_part = info.whole_steps.count > 0;
  size_t const all = is_part ? static_cast<size_t>(info.whole_steps.count) : steps.size();

  for (size_t i = 0; i < steps.size(); ++i) {
    HostStep const& step = steps[i];
    if (!is_chosen(step, options)) continue;

    HostStepStats row;
    row.step = step.index;
    row.track = track.value;
    row.range = row.period = step.when;
    if (i > 0 && steps[i - 1].index + 1 == step.index) row.period.begin = steps[i - 1].when.end;
    row.input_ns = measure_in(input, row.period);
    int64_t const place = is_part ? step.index - info.whole_steps.first : static_cast<int64_t>(i);
    row.warmup = (all > kFewestStepsForWarmup && place < options.warmup_steps) ||
                 info.whole_steps.is_context(step.index);

    facts.steps.push_back(row);
  }
}

std::vector<int64_t> counted_lengths(HostStats const& facts) {
  std::vector<int64_t> lengths;
  for (HostStepStats const& step : facts.steps)
    if (!step.warmup) lengths.push_back(step.period.length());
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

/// The value that at least `percent` % of the sorted lengths do not pass.
int64_t quantile_of(std::vector<int64_t> const& sorted, size_t percent) {
  return sorted[std::max<size_t>((sorted.size() * percent + 99) / 100, 1) - 1];
}

void mark_outliers(std::vector<int64_t> const& lengths, HostStats& facts) {
  int64_t const limit = longest_usual_ns(lengths);
  for (HostStepStats& step : facts.steps)
    step.outlier = !step.warmup && step.period.length() > limit;
}

/// How the slow steps compare with the others; what they have more of is added by who knows the
/// ranges.
void add_slow_steps(HostStats& facts) {
  if (facts.counted_steps < kFewestToCompare) return;
  std::vector<bool> const is_steady = steady_host_steps(facts);
  SlowSteps slow;
  int64_t slow_ns = 0, steady_ns = 0, slow_count = 0, steady_count = 0;
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    HostStepStats const& step = facts.steps[i];
    if (step.warmup) continue;
    add_saturated(is_steady[i] ? steady_ns : slow_ns, step.period.length());
    ++(is_steady[i] ? steady_count : slow_count);
    slow.count += step.outlier ? 1 : 0;
  }
  if (slow_count == 0 || steady_count == 0) return;

  slow.mean_ns = slow_ns / slow_count;
  slow.steady_ns = steady_ns / steady_count;
  HostStepStats const& worst = facts.steps[slowest_host_step(facts)];
  slow.worst = worst.step;
  slow.when = worst.period;
  facts.slow = slow;
}

}  // namespace

size_t slowest_host_step(HostStats const& facts) {
  size_t slowest = facts.steps.size();
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    if (facts.steps[i].warmup) continue;
    if (slowest == facts.steps.size() ||
        facts.steps[i].period.length() > facts.steps[slowest].period.length())
      slowest = i;
  }
  return slowest;
}

std::vector<bool> steady_host_steps(HostStats const& facts) {
  std::vector<bool> steady(facts.steps.size());
  bool has_outliers = false;
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    steady[i] = !facts.steps[i].warmup && !facts.steps[i].outlier;
    has_outliers = has_outliers || facts.steps[i].outlier;
  }

  size_t const slowest = slowest_host_step(facts);
  if (!has_outliers && facts.counted_steps >= kFewestToCompare && slowest < steady.size())
    steady[slowest] = false;
  return steady;
}

void add_host_steps(HostActivity& host, model::TraceInfo const& info,
                    std::vector<std::vector<HostStep>> const& steps, AnalyzeOptions const& options,
                    HostStats& facts) {
  for (uint32_t track = 0; track < steps.size(); ++track)
    if (!steps[track].empty())
      add_steps_of_thread(host, model::TrackId{track}, steps[track], info, options, facts);
  std::vector<int64_t> const lengths = counted_lengths(facts);
  facts.counted_steps = lengths.size();
  if (lengths.empty()) return;

  int64_t total = 0, input = 0;
  for (HostStepStats const& step : facts.steps) {
    if (step.warmup) continue;
    add_saturated(total, step.period.length());
    add_saturated(input, step.input_ns);
  }
  facts.mean_ns = total / std::ssize(lengths);
  facts.input_ns = input / std::ssize(lengths);
  facts.median_ns = quantile_of(lengths, 50);
  facts.p95_ns = quantile_of(lengths, 95);

  mark_outliers(lengths, facts);
  add_slow_steps(facts);
}

}  // namespace stepscope::analyzer
