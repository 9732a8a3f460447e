#include "reports/summary.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "analyzer/rules/benchmark.h"
#include "analyzer/rules/measured_steps.h"
#include "reports/host_words.h"
#include "reports/language.h"
#include "reports/wording.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Below this share of the step nobody gains by looking at a loss; the verdict then says that all is well.
constexpr double kLossWorthNaming = 0.03;

void add(Summary& summary, analyzer::TimeSplit const& split) {
  for (int i = 0; i < kPartCount; ++i) summary.parts_ns[static_cast<size_t>(i)] += static_cast<double>(part_ns(split, i));
}

void add_steps(Summary& summary, analyzer::Analysis const& analysis) {
  std::vector<int64_t> lengths;
  std::set<int64_t> counted, warmup;
  for (StepPeriod const& period : step_periods(analysis)) {
    (period.step->warmup ? warmup : counted).insert(period.step->step);
    if (period.step->warmup) continue;
    for (size_t i = 0; i < period.parts_ns.size(); ++i) summary.parts_ns[i] += static_cast<double>(period.parts_ns[i]);
    lengths.push_back(period.when.length());
  }
  summary.steps = counted.size();
  summary.warmup_steps = warmup.size();
  if (lengths.empty()) return;
  summary.has_steps = true;
  for (double& ns : summary.parts_ns) ns /= static_cast<double>(lengths.size());
  std::sort(lengths.begin(), lengths.end());
  summary.median_ns = quantile(lengths, 0.5);
  summary.p95_ns = quantile(lengths, 0.95);
}

void add_devices(Summary& summary, analyzer::Analysis const& analysis) {
  int64_t window = 0, busy = 0, comm = 0, exposed = 0;
  for (analyzer::DeviceFacts const& device : analysis.devices) {
    window += device.time.window_ns;
    busy += device.time.busy_ns;
    comm += device.time.comm_ns;
    exposed += device.time.exposed_comm_ns;
    if (device.memory.peak_reserved_bytes)
      summary.peak_reserved_bytes = std::max(summary.peak_reserved_bytes.value_or(0), *device.memory.peak_reserved_bytes);
    if (!summary.has_steps) add(summary, device.time);
  }
  if (!summary.has_steps && !analysis.devices.empty())
    for (double& ns : summary.parts_ns) ns /= static_cast<double>(analysis.devices.size());
  if (window > 0) summary.utilization = static_cast<double>(busy) / static_cast<double>(window);
  if (comm > 0) summary.overlap = static_cast<double>(comm - exposed) / static_cast<double>(comm);
}

/// The first finding that is more than a note, as a sentence.
std::string first_finding(model::Run const& run, analyzer::Analysis const& analysis) {
  auto const first = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                  [](analyzer::Finding const& finding) { return finding.severity != analyzer::Severity::kInfo; });
  return first == analysis.findings.end() ? "" : tr(" Look first at: {}.", words_of(run, analysis, *first).title);
}

std::string verdict_without_device(model::Run const& run, analyzer::Analysis const& analysis) {
  auto const is_of = [&](std::string_view tool) {
    return std::any_of(run.ranks.begin(), run.ranks.end(),
                       [&](model::RankTrace const& rank) { return rank.trace.info().tool.starts_with(tool); });
  };
  std::string text = host_verdict(analysis);
  bool const is_judged = summarize_hosts(analysis).mean_ns || !analysis.negotiations.empty();
  if (text.empty()) text = tr("No device activity was recorded: there is nothing to judge.");
  if (is_of("PyTorch profiler")) text += tr(" The profiler records device work with ProfilerActivity.CUDA among its activities.");
  if (is_of("Chrome trace") && !is_judged)
    text += tr(" In Chrome traces device work is the events of category kernel, gpu_memcpy or gpu_memset.");
  return text + first_finding(run, analysis);
}

}  // namespace

std::vector<StepPeriod> step_periods(analyzer::Analysis const& analysis) {
  std::vector<std::vector<analyzer::MeasuredPeriod>> const measured = analyzer::measured_periods(analysis);
  std::vector<StepPeriod> periods;
  periods.reserve(analysis.steps.size());
  size_t device = 0, next = 0;  // of its periods
  for (analyzer::StepFacts const& step : analysis.steps) {
    StepPeriod& period = periods.emplace_back(StepPeriod{&step, step.window, {}});
    for (int i = 0; i < kPartCount; ++i) period.parts_ns[static_cast<size_t>(i)] = part_ns(step.time, i);
    for (; device < measured.size() && analysis.devices[device].ref < step.ref; ++device) next = 0;
    if (step.warmup || device == measured.size() || analysis.devices[device].ref != step.ref) continue;
    // A period ends where its step's window does; steps that go back in time have none.
    if (next >= measured[device].size() || measured[device][next].when.end != step.window.end) continue;
    analyzer::MeasuredPeriod const& own = measured[device][next++];
    period.when = own.when;
    for (size_t cause = 0; cause < own.lead.size(); ++cause) period.parts_ns[3 + cause] += own.lead[cause];
  }
  return periods;
}

int64_t quantile(std::vector<int64_t> const& sorted, double q) {
  STEPSCOPE_CHECK(!sorted.empty());
  auto const rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double Summary::share(int part_index) const { return mean_ns > 0 ? parts_ns[static_cast<size_t>(part_index)] / mean_ns : 0; }

Summary summarize(analyzer::Analysis const& analysis) {
  Summary summary;
  add_steps(summary, analysis);
  add_devices(summary, analysis);
  for (int i = 0; i < kPartCount; ++i) {
    double const ns = summary.parts_ns[static_cast<size_t>(i)];
    summary.mean_ns += ns;
    if (i > 0 && ns > 0 && (summary.largest_loss < 0 || ns > summary.parts_ns[static_cast<size_t>(summary.largest_loss)]))
      summary.largest_loss = i;
  }
  return summary;
}

std::string verdict(model::Run const& run, analyzer::Analysis const& analysis, Summary const& summary) {
  if (!has_device_work(analysis)) return verdict_without_device(run, analysis);
  auto const duration = [](double ns) { return base::format_duration(std::llround(ns)); };
  std::string text;
  if (summary.has_steps && summary.steps == 1)
    text = tr("The one step that was measured takes {}; the devices compute for {} of it.", duration(summary.mean_ns),
              base::format_share(summary.share(0)));
  else if (summary.has_steps)
    text = tr("A step takes {} on average; the devices compute for {} of it.", duration(summary.mean_ns),
              base::format_share(summary.share(0)));
  else if (analysis.layers)
    text = tr(
        "No whole step was recorded: one layer of the model ({}) repeats every {}. Over {} of recorded device time the devices "
        "compute for {}.",
        analysis.layers->name, base::format_duration(analysis.layers->period_ns), duration(summary.mean_ns),
        base::format_share(summary.share(0)));
  else
    text = tr("No steps were found; over {} of recorded device time the devices compute for {}.", duration(summary.mean_ns),
              base::format_share(summary.share(0)));
  if (analyzer::is_benchmark(run))
    return text.append(
        tr(" The program measures single operations: communication that nothing hides, and idle time between two "
           "measurements, are what it is for and no losses."));
  int const loss = summary.largest_loss;
  if (loss < 0 || summary.share(loss) < kLossWorthNaming) return text.append(tr(" No single loss is worth naming."));
  text += tr(" The largest loss is {}: {}{} ({}).", part(loss).label, duration(summary.parts_ns[static_cast<size_t>(loss)]),
             summary.has_steps ? tr(" a step") : "", base::format_share(summary.share(loss)));
  return text + first_finding(run, analysis);
}

}  // namespace stepscope::reports
